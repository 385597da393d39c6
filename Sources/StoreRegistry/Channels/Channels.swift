public import LiveActivity
package import Redis
public import StoreGround

/// Installs, their tags and named users.
///
/// A channel's record and its sets are on different slots of a cluster, so no script changes both (see
/// `applyMemberships`). Repeating a call is harmless, and finishes one that was interrupted.
public struct Channels: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace
    package let followings: FollowingIndex
    /// The most tags of one channel. It bounds what `channel-mark` reads at once.
    public package(set) var maximumTags = 1_000
    package var quotas: Quotas
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64
    /// How long a channel is kept after it was last seen; zero: for ever.
    package let life: Duration

    package init(
        redis: RedisClient, keys: Keyspace, followings: FollowingIndex, life: Duration = .zero,
        clock: @escaping @Sendable () -> Int64 = wallClock
    ) {
        self.redis = redis
        self.keys = keys
        self.followings = followings
        self.life = life
        self.clock = clock
        quotas = Quotas(keys: keys)
    }

    /// Creates a channel or notes that it was seen. A nil `namedUser` or `hasIOS18` leaves the stored one as it is.
    /// - Throws: `tooManyTags`, as all calls here do. The other channels of the call are changed.
    public func register(
        _ app: AppKey, _ channel: ChannelID, tags: TagChange, namedUser: String?, hasIOS18: Bool? = nil
    ) async throws(StoreError) {
        let user = namedUser.map { ChannelOperation.set(prefix: "u:", [.namedUser($0)]) }
        let system = hasIOS18.map { $0 ? ChannelOperation.add(.iOS18) : .remove(.iOS18) }
        try await applyMemberships(app, [channel], ChannelOperation.list(tags) + [user, system].compactMap { $0 })
    }

    /// Channels that do not exist yet are created.
    public func tag(_ app: AppKey, _ channels: [ChannelID], _ change: TagChange) async throws(StoreError) {
        try await applyMemberships(app, channels, ChannelOperation.list(change))
    }

    /// Gives the channel this named user instead of any other.
    public func associate(_ app: AppKey, _ channel: ChannelID, namedUser: String) async throws(StoreError) {
        try await applyMemberships(app, [channel], [.set(prefix: "u:", [.namedUser(namedUser)])])
    }

    /// - Parameter namedUser: nil removes whichever user the channel has.
    public func disassociate(_ app: AppKey, _ channel: ChannelID, namedUser: String?) async throws(StoreError) {
        let operation = namedUser.map { ChannelOperation.remove(.namedUser($0)) } ?? .set(prefix: "u:", [])
        try await applyMemberships(app, [channel], [operation])
    }
}
