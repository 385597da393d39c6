public import LiveActivity
import Redis
public import StoreGround

/// The names that a batch removed last, all that their channel followed.
public struct ClearedNames: Sendable, Hashable {
    public var names: Set<ActivityName>
    /// The time of the last removal by the phone's clock, epoch ms. A repeated batch has it again.
    public var last: Int64
    /// An update of the app removed the names, and they are registered again.
    public var areBack = false

    public init(_ names: some Sequence<ActivityName>, last: Int64) { (self.names, self.last) = (Set(names), last) }
}

/// A channel's record knows the version of its app, and the names that a batch removed last. Whichever comes second
/// tells whether an update of the app removed the names.
extension Channels {
    /// The longest time between an app's new version and the removals of its names.
    private static let window: Duration = .seconds(600)

    /// Notes the version of a channel's app.
    /// - Returns: the names that were removed because of a new version, until they are `backAgain`
    public func note(
        version: String, _ app: AppKey, _ channel: ChannelID
    ) async throws(StoreError) -> [ActivityName] {
        try await cleared(app, channel, version: version, nil)
    }

    /// Notes that all names of a channel were removed in one batch.
    /// - Returns: the names, if its app has a new version whose removals are not `backAgain`
    public func noteCleared(
        _ cleared: ClearedNames, _ app: AppKey, _ channel: ChannelID
    ) async throws(StoreError) -> [ActivityName] {
        try await self.cleared(app, channel, version: "", cleared)
    }

    /// The names that `noteCleared` got last. Nil: none, or they are forgotten.
    public func cleared(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> ClearedNames? {
        let stored = try await redis.run("HGET", keys.channel(app, channel), "cleared").optionalString()
        let parts = stored?.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let last = StoredNumber.read(parts[1]) else { return nil }
        var cleared = ClearedNames(Self.names(parts[2]), last: Int64(last))
        cleared.areBack = parts[0] == "0"
        return cleared
    }

    /// The channel follows another name, so its user has swiped the cards away.
    public func forgetCleared(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) {
        try await redis.run("HDEL", keys.channel(app, channel), "cleared")
    }

    /// Notes that the names are registered again which a new version had removed.
    public func backAgain(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) {
        _ = try await cleared(app, channel, version: "", nil)
    }

    private func cleared(
        _ app: AppKey, _ channel: ChannelID, version: String, _ removed: ClearedNames?
    ) async throws(StoreError) -> [ActivityName] {
        let text = removed.map { "\($0.last) \($0.names.map(\.rawValue).joined(separator: "\n"))" }
        let reply = try await redis.run(
            Lua.channelCleared, keys: ["c": keys.channel(app, channel)],
            [
                "version": .string(version), "removed": .string(text ?? ""),
                "window": .int(Self.window.milliseconds),
            ])
        return Self.names(try reply.string())
    }

    /// A name has no control characters.
    private static func names(_ text: some StringProtocol) -> [ActivityName] {
        text.split(separator: "\n").compactMap { try? ActivityName(String($0)) }
    }
}
