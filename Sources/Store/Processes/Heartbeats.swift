import LiveActivity
import Redis

/// The heartbeats of all workers, in one hash. A worker writes its own, so the cost does not grow with the pushes.
public struct Heartbeats: Sendable {
    public static let interval: Duration = .seconds(2)
    /// A worker that was killed leaves its heartbeat for so long, so that an operator sees that it is gone.
    static let memory: Duration = .seconds(3_600)

    let redis: RedisClient
    let keys: Keyspace

    /// - Parameter renews: whether the life of all heartbeats begins anew. Now and then is enough.
    public func write(_ heartbeat: Heartbeat, renews: Bool = true) async throws(StoreError) {
        let write = RedisCommand("HSET", keys.workers, .string(heartbeat.worker), .string(heartbeat.text))
        let renewal = RedisCommand("PEXPIRE", keys.workers, .int(2 * Self.memory.milliseconds))
        try await redis.run([write] + (renews ? [renewal] : []))
    }

    /// The worker ends in order, so nobody has to look for it.
    public func remove(_ worker: String) async throws(StoreError) {
        try await redis.run("HDEL", keys.workers, .string(worker))
    }

    /// The heartbeats of all workers by name, also of silent workers. The list leaves out heartbeats that cannot be
    /// read, heartbeats of workers that were started again, and heartbeats from before Redis's clock was set back.
    /// - Parameter now: epoch ms
    public func list(now: Int64) async throws(StoreError) -> [Heartbeat] {
        let all = try await redis.hash(keys.workers).pairs.compactMap { Heartbeat(worker: $0.0, text: $0.1) }
        return Self.present(all.filter { !$0.isAhead(now: now) }).sorted { $0.worker < $1.worker }
    }

    /// The heartbeats of all workers as they are, and how many of them cannot be read.
    public func all() async throws(StoreError) -> (heartbeats: [Heartbeat], unreadable: Int) {
        let pairs = try await redis.hash(keys.workers).pairs
        let heartbeats = pairs.compactMap { Heartbeat(worker: $0.0, text: $0.1) }
        return (heartbeats, pairs.count - heartbeats.count)
    }

    /// Without workers that were silent when another one of their name was started. Two that live with one name stay.
    static func present(_ all: [Heartbeat]) -> [Heartbeat] {
        let starts = Dictionary(all.map { ($0.name, $0.startedAt) }, uniquingKeysWith: max)
        return all.filter { $0.at >= starts[$0.name] ?? 0 }
    }

    /// Removes the heartbeats of workers that were silent for an hour, and heartbeats that cannot be read.
    /// - Parameter now: epoch ms
    public func forgetSilent(now: Int64) async throws(StoreError) {
        for (worker, text) in try await redis.hash(keys.workers).pairs {
            if let heartbeat = Heartbeat(worker: worker, text: text), abs(now - heartbeat.at) < Self.memory.milliseconds
            {
                continue
            }
            try await remove(worker)
        }
    }
}

extension Keyspace {
    /// Workers and their heartbeats.
    fileprivate var workers: RedisKey { key("{q}:workers") }
}
