import Foundation
import TestSupport

/// Checks, in runs whose app has outgoing events, that the end of every push was told: no death may lose one.
struct EventCheck: Sendable {
    let redis: RedisServers
    let pushes: [Push]
    let found: Findings

    /// The ids of the events in the app's stream.
    private static let script = """
        local ids = {}
        for _, key in ipairs(redis.call('KEYS', 'll:out:*')) do
            for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do ids[#ids + 1] = entry[2][2] end
        end
        return ids
        """

    /// Waits for the last ones, which the reconciler may have to find.
    func judge(within limit: Duration) async throws {
        let expected = pushes.filter(\.isTold)
        let end = ContinuousClock.now + limit
        while true {
            let told = try await told()
            let missing = expected.filter { !told.contains("\($0.id).1") }
            if missing.isEmpty { return }
            if ContinuousClock.now > end {
                for push in missing { found.note(.untold, "\(push.title) \(push.id): \(push.ledger?.text ?? "")") }
                return
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func told() async throws -> Set<String> {
        var ids: Set<String> = []
        for role in redis.dataRoles {
            guard let socket = redis.socket(role) else { continue }
            let answer = try await ChildProcess.run(["redis-cli", "-s", socket, "--raw", "EVAL", Self.script, "0"])
            guard answer.code == 0 else { throw ChaosFailure("\(role) does not say its events: \(answer.out)") }
            ids.formUnion(answer.out.split(separator: "\n").map(String.init))
        }
        return ids
    }
}

extension Push {
    /// Whether it became a push, which a schedule that was deleted or refused did not.
    fileprivate var isTold: Bool {
        guard let ledger, ledger.isFinal else { return false }
        switch fate {
        case .deleted: return false
        case .raced, .unordered: return ledger.state != "failed"
        case .kept, .cancelled, .dropped: return true
        }
    }
}
