public import LiveActivity
public import Store

public struct GatewayApp: Sendable {
    public var key: AppKey
    /// The secret of devices, and of servers that act for one device.
    public var secret: String
    /// The secret of publishers.
    public var masterSecret: String
    /// The credentials of the configuration file, beside the two secrets.
    public var credentials: [AppCredential] = []
    /// The platforms that it sends to.
    public var platforms: Set<Platform> = [.ios]
    /// Seconds to the `stale_date` of starts and updates that have none. Nil leaves them without one.
    public var staleAfter: Int?
    /// Whether starts without `options.respect_dismissal` leave out channels whose user dismissed the name's card.
    public var respectsDismissal = false
    /// The time for which pushes without `options.expiry` are tried. An absent event has the default of its kind.
    public var lives: [ActivityEvent: Duration] = [:]
    /// The age at which the app's cards are ended automatically. Nil: only a published end ends them.
    public var endAfter: Duration?
    /// The value of `options.catch_up` for a registration that does not give one.
    public var catchesUp = false
    /// Whether pushes get a push mark, and devices may send receipts.
    public var takesReceipts = false
    /// Values of features about the app.
    public var extras = Extras()
    /// The rights of devices.
    public var deviceRights = Set(DeviceRight.allCases)

    public init(key: AppKey, secret: String, masterSecret: String) {
        self.key = key
        self.secret = secret
        self.masterSecret = masterSecret
    }
}

/// A right that an app's settings may take from its devices, and so from everybody with the app and its secret. Servers
/// with the master secret, or with a credential of their own, have both.
public enum DeviceRight: Sendable, Hashable, CaseIterable {
    /// To set the tags of a channel.
    case tags
    /// To say which named user a channel is of.
    case users

    /// Why a call did not do it, for the caller.
    var refusal: String {
        switch self {
        case .tags:
            "only servers set tags of this app's channels (defaults.device_tags is false, or its token forbids it)"
        case .users:
            "only servers say whose this app's channels are (defaults.device_users is false, or its token forbids it)"
        }
    }
}
