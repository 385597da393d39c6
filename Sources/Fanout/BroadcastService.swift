public import APNsWire
public import LiveActivity

/// What APNs offers an app for broadcast channels: APNsClient's sender and channel management, as the worker calls them.
public struct BroadcastService: Sendable {
    /// One broadcast; no answer is an outcome as well.
    public var send: @Sendable (PreparedBroadcast) async -> PushOutcome
    public var create: @Sendable (BroadcastStorage) async throws(ChannelError) -> BroadcastChannelID
    public var delete: @Sendable (BroadcastChannelID) async throws(ChannelError) -> Void
    /// All channels of the app, also those made elsewhere.
    public var list: @Sendable () async throws(ChannelError) -> [BroadcastChannelID]
    /// Waits for what is in flight.
    public var close: @Sendable () async -> Void

    public init(
        send: @escaping @Sendable (PreparedBroadcast) async -> PushOutcome,
        create: @escaping @Sendable (BroadcastStorage) async throws(ChannelError) -> BroadcastChannelID,
        delete: @escaping @Sendable (BroadcastChannelID) async throws(ChannelError) -> Void,
        list: @escaping @Sendable () async throws(ChannelError) -> [BroadcastChannelID],
        close: @escaping @Sendable () async -> Void
    ) {
        self.send = send
        self.create = create
        self.delete = delete
        self.list = list
        self.close = close
    }
}
