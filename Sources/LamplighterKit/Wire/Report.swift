/// A fact that the gateway must learn. The outbox keeps it on disk until the gateway has answered.
enum Report: Codable, Hashable, Sendable {
    case follow(Follow)
    case unfollow(Unfollow)
    case start(StartToken)
    case unstart(Unstart)
    case device(Device)

    /// An activity has this push token.
    struct Follow: Codable, Hashable, Sendable {
        var name: String
        var activity: String
        /// In hex.
        var token: String
        var hasFrequentPushes: Bool
        /// Epoch milliseconds. Nil: the activity has not started.
        var startedAt: Int64?
    }

    /// An activity ended, or left the lock screen.
    struct Unfollow: Codable, Hashable, Sendable {
        var name: String
        var activity: String
    }

    /// A push-to-start token.
    struct StartToken: Codable, Hashable, Sendable {
        var attributesType: String
        /// In hex.
        var token: String
    }

    /// No card of this type may be started here any more.
    struct Unstart: Codable, Hashable, Sendable {
        var attributesType: String
    }

    struct Device: Codable, Hashable, Sendable {
        /// The version of iOS, such as `18.1`.
        var system: String
    }

    /// A newer report with the same key takes the place of an older one. The key is of the activity, not of its name:
    /// the end of one card must not replace the token of the next one.
    var key: String {
        switch self {
        case .follow(let follow): "activity/\(follow.activity)"
        case .unfollow(let unfollow): "activity/\(unfollow.activity)"
        case .start(let start): "type/\(start.attributesType)"
        case .unstart(let unstart): "type/\(unstart.attributesType)"
        case .device: "device"
        }
    }
}

/// A card shows a push, or ended with it, or left the lock screen with it.
struct Receipt: Codable, Hashable, Sendable {
    enum Event: String, Codable, Sendable { case shown, ended, dismissed }

    /// The `lamplighter` of the content state.
    var push: String
    var event: Event
}
