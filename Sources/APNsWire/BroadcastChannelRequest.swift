public import Delivery
public import LiveActivity

/// A request to the management service of broadcast channels. Source: "Sending channel management requests to APNs".
public enum BroadcastChannelRequest: Sendable, Hashable {
    case create(BroadcastStorage)
    case read(BroadcastChannelID)
    case delete(BroadcastChannelID)
    case list

    /// The most channels of one app in one environment.
    public static let maximumChannels = 10_000

    public var method: String {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    public func path(bundleID: String) -> String {
        self == .list ? "/1/apps/\(bundleID)/all-channels" : "/1/apps/\(bundleID)/channels"
    }

    /// Header fields without `authorization`.
    public var fields: [Exchange.Field] {
        switch self {
        case .create: [Exchange.Field("content-type", "application/json")]
        case .read(let channel), .delete(let channel): [Exchange.Field("apns-channel-id", channel.rawValue)]
        case .list: []
        }
    }

    public var body: [UInt8]? {
        guard case .create(let storage) = self else { return nil }
        // The push type has capital letters here, unlike in the header of a push.
        return Array(#"{"message-storage-policy":\#(storage.policy),"push-type":"LiveActivity"}"#.utf8)
    }

    /// The status of success.
    public var status: Int {
        switch self {
        case .create: 201
        case .read, .list: 200
        case .delete: 204
        }
    }
}
