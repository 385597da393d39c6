public import Delivery
public import LiveActivity

/// Headers and payload that one push sends to every token, rendered once.
public struct PreparedPush: Sendable, Hashable {
    /// `<bundle id>.push-type.liveactivity`
    public var topic: String
    public var priority: PushPriority
    /// `apns-expiration`: epoch seconds; 0: try once; nil: Apple's storage policy.
    public var expiration: Int?
    /// At most 64 bytes.
    public var collapseID: String?
    public var payload: [UInt8]
    /// The payload for entries with the route `variant`. Nil: the push has no variant.
    public var variantPayload: [UInt8]?
    /// Receives a copy of each request and answer of the page. Nil if the push has no trace.
    public var trace: ExchangeRecorder?

    public init(
        bundleID: String, priority: PushPriority, expiration: Int? = nil, collapseID: String? = nil, payload: [UInt8]
    ) {
        topic = "\(bundleID).push-type.liveactivity"
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
    }

    /// Name and value in the order they are sent, without `authorization`.
    public var fields: [(name: String, value: String)] {
        var fields = [
            ("apns-push-type", "liveactivity"), ("apns-topic", topic), ("apns-priority", "\(priority.rawValue)"),
        ]
        if let expiration { fields.append(("apns-expiration", "\(expiration)")) }
        if let collapseID { fields.append(("apns-collapse-id", collapseID)) }
        return fields.map { (name: $0.0, value: $0.1) }
    }
}
