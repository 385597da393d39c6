public import APNsWire
public import LiveActivity

/// APNs's services for an app's broadcast channels, as the worker calls them: APNsClient's sender and channel
/// management.
public struct BroadcastService: Sendable {
    /// Sends one broadcast. A missing answer is an outcome as well.
    public var send: @Sendable (PreparedBroadcast) async -> PushOutcome
    public var create: @Sendable (BroadcastStorage) async throws(BroadcastChannelError) -> BroadcastChannelID
    public var delete: @Sendable (BroadcastChannelID) async throws(BroadcastChannelError) -> Void
    /// Lists all broadcast channels of the app, including those that other systems made.
    public var list: @Sendable () async throws(BroadcastChannelError) -> [BroadcastChannelID]
    /// Waits for requests in flight.
    public var close: @Sendable () async -> Void

    public init(
        send: @escaping @Sendable (PreparedBroadcast) async -> PushOutcome,
        create: @escaping @Sendable (BroadcastStorage) async throws(BroadcastChannelError) -> BroadcastChannelID,
        delete: @escaping @Sendable (BroadcastChannelID) async throws(BroadcastChannelError) -> Void,
        list: @escaping @Sendable () async throws(BroadcastChannelError) -> [BroadcastChannelID],
        close: @escaping @Sendable () async -> Void
    ) {
        self.send = send
        self.create = create
        self.delete = delete
        self.list = list
        self.close = close
    }
}
