public import LiveActivity

public struct Untrack: Sendable, Hashable {
    public var channel: ChannelID
    public var removedAt: Int64
    /// Nil removes any activity that the channel follows under the name.
    public var activityID: String?

    public init(channel: ChannelID, removedAt: Int64, activityID: String? = nil) {
        self.channel = channel
        self.removedAt = removedAt
        self.activityID = activityID
    }
}
