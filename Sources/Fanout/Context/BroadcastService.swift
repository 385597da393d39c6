public import APNsClient
public import APNsWire
public import Delivery
public import LiveActivity

/// APNs's services for an app's broadcast channels: APNsClient's sender and channel management.
public struct BroadcastService: Sendable {
    /// Sends one broadcast while it is permitted. A missing answer is an outcome as well.
    public var send: @Sendable (PreparedBroadcast, any SendPermission) async -> PushOutcome
    public var create: @Sendable (BroadcastStorage) async throws(BroadcastChannelError) -> BroadcastChannelID
    public var delete: @Sendable (BroadcastChannelID) async throws(BroadcastChannelError) -> Void
    /// Lists all broadcast channels of the app, including those that other systems made.
    public var list: @Sendable () async throws(BroadcastChannelError) -> [BroadcastChannelID]
    /// Waits for requests in flight.
    public var close: @Sendable () async -> Void

    public init(_ client: BroadcastClient) {
        let (sender, channels) = (client.sender, client.channels)
        send = { await sender.send($0, while: $1) }
        create = { (storage) async throws(BroadcastChannelError) in try await channels.create(storage) }
        delete = { (id) async throws(BroadcastChannelError) in try await channels.delete(id) }
        list = { () async throws(BroadcastChannelError) in try await channels.list() }
        close = { await sender.close() }
    }
}
