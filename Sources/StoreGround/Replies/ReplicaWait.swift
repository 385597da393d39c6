package import LiveActivity
package import Redis
import Synchronization

/// Asks the replicas whether they have a commit, over a connection of its own, because WAIT blocks its connection.
///
/// WAIT is about the last write of its own connection. So each question begins with a write after the commit, which
/// sets the push's life again. Its reply also shows whether this server has the push, because a failover may have
/// changed the server. Publishes that come during a question share the next one, so a slow replica costs each at most
/// two timeouts. In a cluster all nodes of a publish are asked at once, each after a write.
package final class ReplicaWait: Sendable {
    package typealias Outcome = Result<Void, StoreError>
    private typealias Waiting = (
        proofs: [RedisCommand], small: PushID?, continuation: CheckedContinuation<Outcome, Never>
    )
    private struct State {
        var waiting: [Waiting] = []
        var isAsking = false
    }
    /// Most publishes of one question.
    private static let most = 512

    private let redis: RedisClient
    private let policy: ReplicaPolicy
    private let state = Mutex(State())

    package init(beside redis: RedisClient, _ policy: ReplicaPolicy) {
        self.redis = redis.separate(silence: policy.timeout)
        self.policy = policy
    }

    /// Returns when enough replicas have everything written before the call, else throws `unreplicated`. `push`: key of
    /// the push or schedule, with `life` ms left. `elsewhere`: writes that prove the same for other slots. `small`:
    /// the push may be a lone one, in the hash of its name, with that life, or be kept in that block.
    package func confirm(
        push: RedisKey, life: Int64,
        small: (id: PushID, name: RedisKey, nameLife: Int64, block: RedisKey)? = nil,
        elsewhere: @autoclosure () -> [RedisCommand] = []
    ) async throws(StoreError) {
        // In this order: a push that ends or is unpacked meanwhile moves from the name to the block or its own hash.
        let others =
            small.map { small in
                [
                    RedisCommand("HGET", small.name, "lone"), Self.proof(small.name, life: small.nameLife),
                    RedisCommand("HEXISTS", small.block, .bytes(small.id.uuid.bytes)),
                    Self.proof(small.block, life: life),
                ]
            } ?? []
        let proofs = others + [Self.proof(push, life: life)] + (redis.isCluster ? elsewhere() : [])
        let outcome = await withCheckedContinuation { continuation in
            let mustAsk = state.withLock { state in
                state.waiting.append((proofs, small?.id, continuation))
                defer { state.isAsking = true }
                return !state.isAsking
            }
            if mustAsk { Task { await ask() } }
        }
        try outcome.get()
    }

    /// A write that changes almost nothing and shows whether the key exists.
    package static func proof(_ key: RedisKey, life: Int64) -> RedisCommand { RedisCommand("PEXPIRE", key, .int(life)) }

    /// A write that moves a member's time by `shift` ms, because a write that changes nothing is not replicated.
    package static func proof(_ set: RedisKey, member: String, shift: Int) -> RedisCommand {
        RedisCommand("ZADD", set, "XX", "INCR", .int(shift), .string(member))
    }

    /// Asks one question after the other until no publish waits.
    private func ask() async {
        while true {
            let group = state.withLock { state in
                let group = Array(state.waiting.prefix(Self.most))
                state.waiting.removeFirst(group.count)
                if group.isEmpty { state.isAsking = false }
                return group
            }
            if group.isEmpty { return }
            for (waiting, outcome) in zip(group, await outcomes(group.map { ($0.proofs, $0.small) })) {
                waiting.continuation.resume(returning: outcome)
            }
        }
    }

    private func outcomes(_ publishes: [(proofs: [RedisCommand], small: PushID?)]) async -> [Outcome] {
        let wait = RedisCommand("WAIT", [.int(policy.replicas), .int(policy.timeout.milliseconds)])
        var answers = await redis.pipeline(publishes.flatMap(\.proofs), eachNodeThen: wait)[...]
        return publishes.map { proofs, small in
            var own = answers.prefix(proofs.count)
            answers.removeFirst(proofs.count)
            if let small {
                let (lone, name, kept, block) = (
                    own.removeFirst(), own.removeFirst(), own.removeFirst(), own.removeFirst()
                )
                let hash = own.removeFirst()
                // The field begins with the push's id (shared-lone-words.lua).
                let isLone = (try? lone.get().reply.bytes())?.starts(with: "\(small) ".utf8) ?? false
                let isKept = (try? kept.get().reply.integer()) == 1
                // One of the name, the block and the push's own hash proves it.
                own = [isLone ? name : isKept ? block : hash] + own
            }
            for answer in own {
                if let failure = failure(answer) { return .failure(failure) }
            }
            return .success(())
        }
    }

    private func failure(_ answer: Result<(reply: RedisReply, last: RedisReply), RedisError>) -> StoreError? {
        // If this connection broke, the commit still exists, and only the replicas' answer is unknown.
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

/// How many replicas must have a publish before it is accepted, and how long they may take.
public struct ReplicaPolicy: Sendable, Hashable {
    public var replicas: Int
    public var timeout: Duration

    public init(replicas: Int, timeout: Duration = .seconds(1)) {
        self.replicas = replicas
        self.timeout = timeout
    }
}
