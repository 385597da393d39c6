public import APNsClient
public import APNsWire
public import Delivery
public import LiveActivity
public import Store

public struct WorkerApp: Sendable {
    public var key: AppKey
    /// One for each platform of the app.
    public var senders: [any PlatformSender]
    /// For APNs's broadcasts.
    public var bundleID: String
    /// Makes the app's broadcast channels and sends to them. Nil: this worker does neither.
    public var broadcasts: BroadcastService?
    /// How long after their start the app's cards are ended. Nil: only when a publisher sends an `end`.
    public var endAfter: Duration?
    /// The cap of the delivery rate at the start. Nil: there is none.
    public var rate: DeliveryRate?

    public init(
        key: AppKey, senders: [any PlatformSender], bundleID: String = "", broadcasts: BroadcastService? = nil,
        endAfter: Duration? = nil, rate: DeliveryRate? = nil
    ) {
        (self.key, self.senders, self.bundleID) = (key, senders, bundleID)
        (self.broadcasts, self.endAfter, self.rate) = (broadcasts, endAfter, rate)
    }

    /// Nil: the app has no sender on the platform.
    func sender(_ platform: Platform) -> (any PlatformSender)? { senders.first { $0.platform == platform } }
    /// Whether a push needs its second before it is sent (`PlatformSender.ordersBySecond`).
    func ordersBySecond(_ record: PushRecord) -> Bool { senders.contains { $0.ordersBySecond(record) } }
    var platforms: [AppPlatform] { senders.map { AppPlatform(key, $0.platform) } }
    /// The longest time from the moment when a request is open to its answer.
    var requestTimeout: Duration { senders.map(\.requestTimeout).max() ?? .zero }
}

/// APNs's services for an app's broadcast channels: APNsClient's sender and channel management.
public struct BroadcastService: Sendable {
    /// Sends one broadcast while it is permitted. A missing answer is an outcome as well.
    public var send: @Sendable (PreparedPush, any SendPermission) async -> PushOutcome
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
