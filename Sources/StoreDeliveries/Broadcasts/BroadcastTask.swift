public import LiveActivity

/// One broadcast that a worker has claimed.
public struct BroadcastTask: Sendable {
    public var lease: Lease
    public var record: PushRecord
    public var channel: BroadcastChannelID
    public var storage: BroadcastStorage
    /// Attempts before this one.
    public var attempts: Int
}
