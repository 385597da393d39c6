import APNsWire
public import Delivery
public import LiveActivity
public import Store

/// An app's sender to APNs.
public struct APNsSender: PlatformSender {
    public var platform: Platform { .ios }
    private let bundleID: String
    public var transport: any PushTransport
    public let otherTransport: (any PushTransport)?
    public var reasons: PlatformReasons { Self.reasons }

    public init(
        bundleID: String, transport: any PushTransport, otherTransport: (any PushTransport)?
    ) {
        (self.bundleID, self.transport, self.otherTransport) = (bundleID, transport, otherTransport)
    }

    private static let reasons = PlatformReasons(
        known: RejectionReason.Known.allCases.map(\.rawValue),
        dead: RejectionReason.Known.allCases.filter { $0.verdict == .pruneToken }.map(\.rawValue),
        gone: RejectionReason.Known.allCases.filter { $0.verdict == .pruneIfOlder }.map(\.rawValue))

    /// A start of a name with a broadcast channel has a variant, for devices that can take updates from that channel.
    public func render(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush {
        let isStart = record.event == .start
        // An automatic end shows the state of the update in `shown`.
        let payload = record.isAutomatic ? Payload.end(record.payload, showing: record.shown) : record.payload
        var push = PreparedPush(
            bundleID: bundleID, priority: record.isDemoted ? .low : record.priority, expiration: record.expiry,
            collapseID: isStart ? CollapseID.start(name) : nil,
            // APNs refuses a start without an alert.
            payload: receivers == .lateJoiners && !isStart ? Payload.withoutAlert(payload) : payload)
        if isStart, let channel = record.inputChannel {
            push.variantBody = Payload.start(record.payload, onBroadcastChannel: channel).map { .shared($0) }
        }
        if push.payload.count > Payload.maximumBytes { push.refusal = PushRecord.tooLarge }
        return push
    }
}

extension WorkerApp {
    /// An app that has APNs alone.
    /// - Parameter otherTransport: for an app in both APNs environments: where tokens are tried that the first does not
    ///   know
    public init(
        key: AppKey, bundleID: String, transport: any PushTransport,
        otherTransport: (any PushTransport)? = nil,
        broadcasts: BroadcastService? = nil, endAfter: Duration? = nil, rate: DeliveryRate? = nil
    ) {
        self.init(
            key: key,
            senders: [APNsSender(bundleID: bundleID, transport: transport, otherTransport: otherTransport)],
            bundleID: bundleID, broadcasts: broadcasts, endAfter: endAfter, rate: rate)
    }
}

extension PushRecord {
    /// The push was accepted for a broadcast channel alone: it is too large for a token.
    var isTooLarge: Bool { payload.count > Payload.maximumBytes }
    /// The reason for which such a push fails at a token.
    static let tooLarge = RejectionReason.Known.payloadTooLarge.rawValue
}
