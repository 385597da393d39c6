import Answers
import LiveActivity

/// The caller, as far as a secret proves it.
enum Credential: Sendable, Hashable {
    case master
    case app
    /// A credential that the app has beside its two secrets.
    case issued(Grant)
    /// The SDK with a token that we issued for this channel.
    case device(ChannelID)
    /// An app with a token that we issued for the reports of this channel. It sets no tags and no named user.
    case reporter(ChannelID)
    /// The SDK, which signed this request with the app secret: for a channel, or before it has one.
    case signed(ChannelID?)
    /// The SDK of this channel with a token that we issued for one purpose.
    case bound(TokenPurpose, ChannelID)
    /// A caller who names an app and has no secret. The proof is in the body, which the handler reads.
    case unproven

    /// The word for it in logs and in pushes.
    var id: String {
        switch self {
        case .master: "master"
        case .app: "app"
        case .issued(let grant): grant.id
        case .device, .reporter: "device"
        case .signed: "signed"
        case .bound(let purpose, _): purpose.claim
        case .unproven: "unproven"
        }
    }

    /// Whether it has all rights of an earlier look at it, maybe until another time.
    func isAsGood(as earlier: Credential) -> Bool {
        guard case .issued(let grant) = self, case .issued(var old) = earlier else { return self == earlier }
        old.expires = grant.expires
        return grant.id == old.id && grant.covers(old)
    }

    /// Whether anybody who has the app can send the request: it comes from a device, or has the secret that is in the
    /// app.
    var isFromApp: Bool { self == .app || isDevice }

    /// Whether an app on a device sent the request, not a server with a secret.
    var isDevice: Bool {
        switch self {
        case .master, .app, .issued: false
        case .device, .reporter, .signed, .bound, .unproven: true
        }
    }
}

extension Capacity.Caller {
    init(_ credential: Credential) {
        self =
            switch credential {
            case .master: .master
            case .app: .app
            // A credential that may publish or operate is a publisher's; the credential of an app's backend is not.
            case .issued(let grant): grant.scopes.isDisjoint(with: [.publish, .operate]) ? .app : .master
            default: .device
            }
    }
}
