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
/// timeouts at the most, however many publishes there are. In a cluster a publish lies on several nodes, each with replicas
/// of its own: all are asked, at once, behind a write to each.
final class ReplicaWait: Sendable {
    typealias Outcome = Result<Void, StoreError>
    private struct Waiting {
        var proofs: [RedisCommand]
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
    /// the schedule, and `life` what it has left, ms. `elsewhere`: what proves the same of the other slots that it lies on.
    func confirm(
        push: String, life: Int64 = Pushes.retention.milliseconds, elsewhere: @autoclosure () -> [RedisCommand] = []
    ) async throws(StoreError) {
        let proofs = [Self.proof(push, life: life)] + (redis.isCluster ? elsewhere() : [])
        let outcome = await withCheckedContinuation { continuation in
            let mustAsk = state.withLock { state in
                state.waiting.append(Waiting(proofs: proofs, continuation: continuation))
                defer { state.isAsking = true }
                return !state.isAsking
            }
            if mustAsk { Task { await ask() } }
        }
        try outcome.get()
    }

    /// A write that changes next to nothing, and finds out whether the key is there.
    static func proof(_ key: String, life: Int64) -> RedisCommand {
        RedisCommand("PEXPIRE", [.string(key), .int(life)])
    }

    /// The same for a member that waits for a time: by `shift` milliseconds, since what changes nothing is not replicated.
    static func proof(_ set: String, member: String, shift: Int) -> RedisCommand {
        RedisCommand("ZADD", [.string(set), "XX", "INCR", .int(shift), .string(member)])
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
            for (waiting, outcome) in zip(group, await outcomes(group.map(\.proofs))) {
                waiting.continuation.resume(returning: outcome)
            }
        }
    }

    private func outcomes(_ publishes: [[RedisCommand]]) async -> [Outcome] {
        let wait = RedisCommand("WAIT", [.int(policy.replicas), .int(policy.timeout.milliseconds)])
        var answers = await redis.pipeline(publishes.flatMap(\.self), eachNodeThen: wait)[...]
        return publishes.map { proofs in
            defer { answers.removeFirst(proofs.count) }
            for answer in answers.prefix(proofs.count) {
                if let failure = failure(answer) { return .failure(failure) }
            }
            return .success(())
        }
    }

    private func failure(_ answer: Result<(reply: RedisReply, last: RedisReply), RedisError>) -> StoreError? {
        // Where this connection broke the commit stands too, and only that is not known.
        guard case .success(let (reply, confirmed)) = answer else {
            return .unreplicated(replicas: 0, of: policy.replicas)
        }
        if let error = reply.error { return .redis(error) }
        if reply.isNil || (try? reply.integer()) == 0 {
            return .redis(.lost("another server answers, without the push"))
        }
        let count = (try? confirmed.integer()) ?? 0
        return count >= policy.replicas ? nil : .unreplicated(replicas: count, of: policy.replicas)
    }
}
