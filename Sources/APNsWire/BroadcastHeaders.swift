public import LiveActivity

/// `apns-*` headers of one broadcast. There is no topic, because the app's bundle id is in the path. APNs requires the
/// first four.
public struct BroadcastHeaders: Sendable, Hashable {
    public var channel: BroadcastChannelID
    public var priority: PushPriority
    /// `apns-expiration`: epoch seconds. It must be 0 for a channel without storage.
    public var expiration: Int
    /// `apns-request-id`, which connects APNs's delivery logs with ours; nil: APNs makes one.
    public var requestID: PushID?

    public init(
        channel: BroadcastChannelID, storage: BroadcastStorage, priority: PushPriority, expiration: Int,
        requestID: PushID? = nil
    ) {
        self.channel = channel
        self.requestID = requestID
        self.priority = priority
        self.expiration = storage == .none ? 0 : expiration
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
    public static func path(bundleID: String) -> String { "/4/broadcasts/apps/\(bundleID)" }
}
