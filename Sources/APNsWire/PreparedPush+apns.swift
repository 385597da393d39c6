public import Delivery
public import LiveActivity

extension PreparedPush {
    /// The request that an update, start or end sends to each token.
    /// - Parameters:
    ///   - expiration: epoch seconds; 0: try once; nil: Apple's storage policy
    ///   - collapseID: at most 64 bytes
    public init(
        bundleID: String, priority: PushPriority, expiration: Int? = nil, collapseID: String? = nil, payload: [UInt8]
    ) {
        var fields = [
            Exchange.Field("apns-push-type", "liveactivity"),
            Exchange.Field("apns-topic", "\(bundleID).push-type.liveactivity"),
            Exchange.Field("apns-priority", "\(priority.rawValue)"),
        ]
        if let expiration { fields.append(Exchange.Field("apns-expiration", "\(expiration)")) }
        if let collapseID { fields.append(Exchange.Field("apns-collapse-id", collapseID)) }
        self.init(path: .hexAddress(after: "/3/device/"), fields: fields, body: .shared(payload))
    }

    /// One request to a broadcast channel, which APNs sends on to every subscribed device. There is no topic, because
    /// the app's bundle id is in the path. APNs requires all headers but the request id.
    /// - Parameters:
    ///   - expiration: epoch seconds; a channel without storage always gets 0
    ///   - requestID: connects APNs's delivery logs with ours; nil: APNs makes one
    ///   - payload: at most `Payload.maximumBroadcastBytes`
    public static func broadcast(
        bundleID: String, channel: BroadcastChannelID, storage: BroadcastStorage, priority: PushPriority,
        expiration: Int, requestID: PushID? = nil, payload: [UInt8]
    ) -> PreparedPush {
        var fields = [
            Exchange.Field("apns-channel-id", channel.rawValue), Exchange.Field("apns-push-type", "liveactivity"),
            Exchange.Field("apns-expiration", "\(storage == .none ? 0 : expiration)"),
            Exchange.Field("apns-priority", "\(priority.rawValue)"),
        ]
        if let requestID { fields.append(Exchange.Field("apns-request-id", "\(requestID)")) }
        // Letters, digits, `.` and `-` of a bundle id need no escape in a path.
        return PreparedPush(path: .shared("/4/broadcasts/apps/\(bundleID)"), fields: fields, body: .shared(payload))
    }

    /// The payload. All requests of a page to APNs share it.
    public var payload: [UInt8] {
        get {
            guard case .shared(let payload) = body else { preconditionFailure("a push of another platform") }
            return payload
        }
        set { body = .shared(newValue) }
    }
}
