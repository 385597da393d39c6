public import APNsWire
public import Delivery
public import LiveActivity
public import Store

public struct WorkerApp: Sendable {
    public var key: AppKey
    public var bundleID: String
    public var transport: any PushTransport<PreparedPush>
    /// For an app in both APNs environments: where tokens are tried that the first does not know.
    public var otherTransport: (any PushTransport<PreparedPush>)?
    /// Nil: this worker makes no broadcast channels for the app and sends to none.
    public var broadcasts: BroadcastService?
    /// Nil: this worker sends no outgoing events for the app.
    public var webhook: WebhookService?
    /// How long after their start the app's cards are ended. Nil: only when a publisher sends an `end`.
    public var endAfter: Duration?
    /// The cap of the delivery rate at the start. Nil: there is none.
    public var rate: DeliveryRate?

    public init(
        key: AppKey, bundleID: String, transport: any PushTransport<PreparedPush>,
        otherTransport: (any PushTransport<PreparedPush>)? = nil,
        broadcasts: BroadcastService? = nil, webhook: WebhookService? = nil, endAfter: Duration? = nil,
        rate: DeliveryRate? = nil
    ) {
        (self.key, self.bundleID, self.transport, self.otherTransport) = (key, bundleID, transport, otherTransport)
        (self.broadcasts, self.webhook, self.endAfter, self.rate) = (broadcasts, webhook, endAfter, rate)
    }
}
