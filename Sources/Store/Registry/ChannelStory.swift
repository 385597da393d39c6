public import LiveActivity

/// What Lamplighter knows of one channel.
public struct ChannelStory: Sendable {
    public struct Token: Sendable {
        public var following: Following
        /// A push waits for its retry.
        public var waits: Bool
        /// Nothing is sent to it, because the prune guard does not believe that it is dead.
        public var isQuarantined: Bool
        /// It is of the app's other APNs environment.
        public var isElsewhere: Bool
    }

    /// Nil if no call has named the channel since its record expired. Channels may follow names without a record.
    public var record: ChannelRecord?
    /// Attributes types, then names, in byte order.
    public var tokens: [Token]
}

extension Store {
    /// Nil for a channel of which nothing is known.
    public func story(_ app: AppKey, _ channel: ChannelID) async throws(StoreError) -> ChannelStory? {
        var story = ChannelStory(record: try await channels.record(app, channel), tokens: [])
        for following in try await registry.followings(app, channel) {
            let (page, hints) = try await registry.lookup(app, following.place, [channel.stored])
            let event: ActivityEvent = following.place.isForStartTokens ? .start : .update
            guard !page.isEmpty,
                let marks = try await registry.marks(app, following.place, page, hints, for: event)
            else { continue }
            story.tokens.append(
                ChannelStory.Token(
                    following: following, waits: marks[0].contains(.waiting),
                    isQuarantined: marks[0].contains(.quarantined), isElsewhere: marks[0].contains(.elsewhere)))
        }
        return story.record == nil && story.tokens.isEmpty ? nil : story
    }
}
