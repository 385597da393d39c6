public import LiveActivity
import Redis

/// Tags by group; Airship's ungrouped tags are group `device`. `set` is applied first, then `add`, then `remove`.
public struct TagChange: Sendable, Hashable {
    public var add: [ExactText: Set<ExactText>] = [:]
    public var remove: [ExactText: Set<ExactText>] = [:]
    /// Replaces the whole group.
    public var set: [ExactText: Set<ExactText>] = [:]
    public init() {}
}

/// Installs, their tags and named users.
///
/// A channel's record and the sets it is in lie on different slots of a cluster, so no script changes both:
/// see `applyMemberships`. Repeating any call is harmless, and finishes one that was interrupted.
public struct Channels: Sendable {
    let redis: RedisClient
    let keys: Keyspace
    /// Tags that one channel may have.
    var maximumTags = Self.defaultMaximumTags
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64
    /// For how long a channel that is not seen is kept; zero: for ever.
    let life: Duration

    /// What `channel-mark` reads at once stays small.
    public static let defaultMaximumTags = 1_000

    init(
        redis: RedisClient, keys: Keyspace, life: Duration = .zero,
        clock: @escaping @Sendable () -> Int64 = wallClock
    ) {
        self.redis = redis
        self.keys = keys
        self.life = life
        self.clock = clock
    }

    /// All calls throw `tooManyTags` for a channel that would have more tags than it may; other channels of the call are
    /// changed all the same.
    ///
    /// Creates or touches a channel; nil leaves the named user as it is.
    /// `hasIOS18` nil: it is not told, and stays as it was.
    public func register(
        _ app: AppKey, _ channel: ChannelID, tags: TagChange, namedUser: String?, hasIOS18: Bool? = nil
    ) async throws(StoreError) {
        let user = namedUser.map { ChannelOperation.set(prefix: "u:", [.namedUser($0)]) }
        let system = hasIOS18.map { $0 ? ChannelOperation.add(Self.iOS18Set) : .remove(Self.iOS18Set) }
        try await applyMemberships(
            app, [channel], ChannelOperation.list(tags) + [user, system].compactMap { $0 })
    }

    /// Channels whose device is known to have iOS 18 or later, which can take an activity's updates from a broadcast channel: a
    /// set like that of a tag, in a group that no tag can have.
    private static let iOS18Set = AudienceSet.tag("18", group: "\u{1}ios")
    static let iOS18 = Audience.tag("18", group: "\u{1}ios")

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
