public import LiveActivity
import Redis

/// Tags by group; Airship's ungrouped tags are group `device`. `set` is applied first, then `add`, then `remove`.
public struct TagChange: Sendable, Hashable {
    public var add: [String: Set<String>] = [:]
    public var remove: [String: Set<String>] = [:]
    /// Replaces the whole group.
    public var set: [String: Set<String>] = [:]
    public init() {}
}

/// Installs, their tags and named users.
///
/// A channel's record and the sets it is in lie on different slots of a cluster, so no script changes both:
/// see `applyMemberships`. Repeating any call is harmless, and finishes one that was interrupted.
public struct Channels: Sendable {
    let redis: RedisClient
    let keys: Keyspace
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    init(redis: RedisClient, keys: Keyspace, clock: @escaping @Sendable () -> Int64 = wallClock) {
        self.redis = redis
        self.keys = keys
        self.clock = clock
    }

    /// Creates or touches a channel; nil leaves the named user as it is.
    public func register(
        _ app: AppKey, _ channel: ChannelID, tags: TagChange, namedUser: String?
    ) async throws(StoreError) {
        let user = namedUser.map { ChannelOperation.set(prefix: "u:", [.namedUser($0)]) }
        try await applyMemberships(app, [channel], ChannelOperation.list(tags) + (user.map { [$0] } ?? []))
    }

    /// Channels that are not known yet are created.
    public func tag(_ app: AppKey, _ channels: [ChannelID], _ change: TagChange) async throws(StoreError) {
        try await applyMemberships(app, channels, ChannelOperation.list(change))
    }

    /// A channel has one named user: this one replaces another.
    public func associate(_ app: AppKey, _ channel: ChannelID, namedUser: String) async throws(StoreError) {
        try await applyMemberships(app, [channel], [.set(prefix: "u:", [.namedUser(namedUser)])])
    }

    /// `namedUser` nil: from whatever user it has.
    public func disassociate(_ app: AppKey, _ channel: ChannelID, namedUser: String?) async throws(StoreError) {
        let operation = namedUser.map { ChannelOperation.remove(.namedUser($0)) } ?? .set(prefix: "u:", [])
        try await applyMemberships(app, [channel], [operation])
    }

    func pipeline(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisReply] {
        do throws(RedisError) { return try await redis.pipeline(commands) } catch { throw .redis(error) }
    }
}
