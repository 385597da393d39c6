public import LiveActivity
import Redis
public import StoreGround

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
        try await cleared(app, channel, version: version, names: [])
    }

    /// Notes that all names of a channel were removed in one batch.
    /// - Returns: the names, if its app has a new version whose removals are not `backAgain`
    public func noteCleared(
        _ names: [ActivityName], _ app: AppKey, _ channel: ChannelID
    ) async throws(StoreError) -> [ActivityName] {
        try await cleared(app, channel, version: "", names: names)
    }

    /// The channel follows another name, or its user has swiped some cards away.
    public func forgetCleared(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) {
        try await redis.run("HDEL", keys.channel(app, channel), "cleared")
    }

    /// Notes that the names are registered again which a new version had removed.
    public func backAgain(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) {
        _ = try await cleared(app, channel, version: "", names: [])
    }

    private func cleared(
        _ app: AppKey, _ channel: ChannelID, version: String, names: [ActivityName]
    ) async throws(StoreError) -> [ActivityName] {
        // A name has no control characters.
        let reply = try await redis.run(
            Lua.channelCleared, keys: ["c": keys.channel(app, channel)],
            [
                "version": .string(version), "names": .string(names.map(\.rawValue).joined(separator: "\n")),
                "window": .int(Self.window.milliseconds),
            ])
        return try reply.string().split(separator: "\n").compactMap { try? ActivityName(String($0)) }
    }
}
