public import LiveActivity
import Redis

/// SKELETON. Tags by group; Airship's ungrouped tags are group `device`.
public struct TagChange: Sendable, Hashable {
    public var add: [String: Set<String>] = [:]
    public var remove: [String: Set<String>] = [:]
    /// Replaces the whole group.
    public var set: [String: Set<String>] = [:]
    public init() {}
}

/// Installs, their tags and named users.
public struct Channels: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Creates or touches a channel; nil leaves the named user as it is.
    public func register(_ app: AppKey, _ channel: ChannelID, tags: TagChange, namedUser: String?) async throws(StoreError) { fatalError() }
    public func tag(_ app: AppKey, _ channels: [ChannelID], _ change: TagChange) async throws(StoreError) { fatalError() }
    public func associate(_ app: AppKey, _ channel: ChannelID, namedUser: String) async throws(StoreError) { fatalError() }
    /// `namedUser` nil: from whatever user it has.
    public func disassociate(_ app: AppKey, _ channel: ChannelID, namedUser: String?) async throws(StoreError) { fatalError() }
    /// Kept by type; delivery is a later part's. Same time rules as registrations.
    public func setStartToken(_ app: AppKey, _ channel: ChannelID, attributesType: String, token: PushToken?, at: Int64) async throws(StoreError) { fatalError() }
    /// The page's entries that belong to the audience: one round trip whatever the page's size.
    public func filter(_ app: AppKey, _ page: TokenPage, _ audience: Audience) async throws(StoreError) -> TokenPage { fatalError() }
}
