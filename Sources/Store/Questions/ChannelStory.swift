public import LiveActivity

/// A channel's record and tokens, as support asks for them.
public struct ChannelStory: Sendable {
    /// Nil if no call has named the channel since its record expired. Channels may follow names without a record.
    public var record: ChannelRecord?
    /// Attributes types, then names, in byte order.
    public var tokens: [Following]
    /// In the same order.
    public var former: [FormerFollowing]
    /// The platform on which it had an address within a year. Nil: it had none.
    public var addressPlatform: Platform?
}

extension Store {
    /// Nil for a channel of which nothing is known.
    public func story(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> ChannelStory? {
        let record = try await channels.record(app, channel)
        let (live, former, platform) = try await followings(app, channel)
        if record == nil, live.isEmpty, former.isEmpty { return nil }
        return ChannelStory(record: record, tokens: live, former: former, addressPlatform: platform)
    }
}
