public import LiveActivity

/// One request to a broadcast channel, which APNs sends on to every subscribed device. There is no topic, because the
/// app's bundle id is in the path. APNs requires all headers but the request id.
public struct PreparedBroadcast: Sendable, Hashable {
    public var bundleID: String
    public var channel: BroadcastChannelID
    public var priority: PushPriority
    /// `apns-expiration`: epoch seconds. It must be 0 for a channel without storage.
    public var expiration: Int
    /// `apns-request-id`, which connects APNs's delivery logs with ours; nil: APNs makes one.
    public var requestID: PushID?
    /// At most `Payload.maximumBroadcastBytes`.
    public var payload: [UInt8]

    public init(
        bundleID: String, channel: BroadcastChannelID, storage: BroadcastStorage, priority: PushPriority,
        expiration: Int, requestID: PushID? = nil, payload: [UInt8]
    ) {
        self.bundleID = bundleID
        self.channel = channel
        self.priority = priority
        self.expiration = storage == .none ? 0 : expiration
        self.requestID = requestID
        self.payload = payload
    }

    /// Name and value in the order they are sent, without `authorization`.
    public var fields: [(name: String, value: String)] {
        let required = [
            (name: "apns-channel-id", value: channel.rawValue), (name: "apns-push-type", value: "liveactivity"),
            (name: "apns-expiration", value: "\(expiration)"), (name: "apns-priority", value: "\(priority.rawValue)"),
        ]
        return required + (requestID.map { [(name: "apns-request-id", value: "\($0)")] } ?? [])
    }

    /// The path of the request. Letters, digits, `.` and `-` need no escape.
    public var path: String { "/4/broadcasts/apps/\(bundleID)" }
}
