import LiveActivity
import Redis
import Synchronization

/// How many replicas must have a publish before it counts as accepted, and how long they may take.
public struct ReplicaPolicy: Sendable, Hashable {
    public var replicas: Int
    public var timeout: Duration

    public init(replicas: Int, timeout: Duration = .seconds(1)) {
        self.replicas = replicas
        self.timeout = timeout
    }
}

/// Asks the replicas whether they have what was committed, on a connection of its own: WAIT holds up the connection that it
/// is sent on, and the commits go on meanwhile on the others.
///
/// WAIT speaks of the last write of its own connection. So each question begins with a write after the commit: the push's
/// life is set once more, which also tells whether the server that is asked has the push at all (it may be another one since
/// a failover). Whoever comes while a question is out shares the next one, so a slow replica costs each publish two
/// timeouts at the most, however many publishes there are. In a cluster the nodes are asked at once, each for its own pushes.
final class ReplicaWait: Sendable {
    typealias Outcome = Result<Void, StoreError>
    private struct Waiting {
        var push: RedisCommand
        var continuation: CheckedContinuation<Outcome, Never>
    }
    private struct State {
        var waiting: [Waiting] = []
        var isAsking = false
    }
    /// Publishes to a question.
    private static let most = 512

    private let redis: RedisClient
    private let policy: ReplicaPolicy
    private let state = Mutex(State())

    init(beside redis: RedisClient, _ policy: ReplicaPolicy) {
        self.redis = redis.separate(silence: policy.timeout)
        self.policy = policy
    }

    /// Returns when enough replicas have everything that was written before the call. `push` is the key of the push, or of
    /// the schedule, and `life` what it has left, ms.
    func confirm(push: String, life: Int64 = Pushes.retention.milliseconds) async throws(StoreError) {
        let command = RedisCommand("PEXPIRE", [.string(push), .int(life)])
        let outcome = await withCheckedContinuation { continuation in
            let mustAsk = state.withLock { state in
                state.waiting.append(Waiting(push: command, continuation: continuation))
                defer { state.isAsking = true }
                return !state.isAsking
            }
            if mustAsk { Task { await ask() } }
        }
        try outcome.get()
    }

    /// Question after question, until nobody waits for one.
    private func ask() async {
        while true {
            let group = state.withLock { state in
                let group = Array(state.waiting.prefix(Self.most))
                state.waiting.removeFirst(group.count)
                if group.isEmpty { state.isAsking = false }
                return group
            }
            if group.isEmpty { return }
            for (waiting, outcome) in zip(group, await outcomes(group.map(\.push))) {
                waiting.continuation.resume(returning: outcome)
            }
        }
    }

    private func outcomes(_ pushes: [RedisCommand]) async -> [Outcome] {
        let wait = RedisCommand("WAIT", [.int(policy.replicas), .int(policy.timeout.milliseconds)])
        return await redis.pipeline(pushes, eachNodeThen: wait).map { outcome in
            // Where this connection broke the commit stands too, and only that is not known.
            guard case .success(let (reply, confirmed)) = outcome else {
                return .failure(.unreplicated(replicas: 0, of: policy.replicas))
            }
            if let error = reply.error { return .failure(.redis(error)) }
            if (try? reply.integer()) != 1 {
                return .failure(.redis(.lost("another server answers, without the push")))
            }
            let count = (try? confirmed.integer()) ?? 0
            return count >= policy.replicas
                ? .success(()) : .failure(.unreplicated(replicas: count, of: policy.replicas))
        }
    }
}
