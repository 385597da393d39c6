public import LiveActivity
import Redis

/// SKELETON. How much waits, per app.
public struct QueueDepth: Sendable, Hashable {
    public var app: AppKey
    public var pushesHigh = 0
    public var pushesLow = 0
    public var shardTasks = 0
    public var retriesDue = 0
    public init(app: AppKey) { self.app = app }
}

public struct WorkQueue: Sendable {
    let redis: RedisClient
    let keys: Keyspace
    public func depth(_ apps: [AppKey]) async throws(StoreError) -> [QueueDepth] { fatalError() }
    /// Consumers of the worker groups with their idle time in ms and entries in hand.
    public func workers() async throws(StoreError) -> [(name: String, idle: Int, pending: Int)] { fatalError() }
}
