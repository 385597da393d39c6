import Foundation

/// A request to the gateway, without its address and its credential.
struct WireRequest: Hashable, Sendable {
    var method: String
    /// The components of the path, not encoded.
    var path: [String]
    var query: String?
    var body: Data?

    /// - Parameter at: epoch milliseconds at which the report became true. The gateway lets the newest win.
    init(_ report: Report, at: Int64, channel: String) {
        switch report {
        case .follow(let follow):
            let body = FollowBody(
                token: follow.token, activityID: follow.activity, registeredAt: at, startedAt: follow.startedAt,
                hasFrequentPushes: follow.hasFrequentPushes)
            self.init("PUT", ["api", "activities", follow.name, "channels", channel], body)
        case .unfollow(let unfollow):
            // The batch removes by id. A plain DELETE that comes late would remove the next card of the same name.
            self.init(removing: BatchBody.Entry(id: unfollow.activity, name: unfollow.name, at: at), of: channel)
        case .unstart(let unstart):
            let entry = BatchBody.Entry(type: "start_token", attributesType: unstart.attributesType, at: at)
            self.init(removing: entry, of: channel)
        case .start(let start):
            let body = StartBody(token: start.token, registeredAt: at)
            self.init("PUT", ["api", "start-tokens", start.attributesType, "channels", channel], body)
        case .device(let device):
            self.init("PUT", ["api", "channels", channel], ChannelBody(channel: .init(system: device.system)))
        }
    }

    init(_ receipts: [Receipt]) {
        self.init("POST", ["api", "receipts"], ReceiptsBody(receipts: receipts.map(ReceiptsBody.Entry.init)))
    }

    private init(removing entry: BatchBody.Entry, of channel: String) {
        self.init("PUT", ["api", "channels", "sdk", "batch", channel], BatchBody(activities: [entry]))
        query = "platform=ios"
    }

    static func broadcastChannel(of name: String) -> WireRequest {
        WireRequest("GET", ["api", "activities", name, "broadcast"], nil)
    }

    /// Exchanges a signature for a token.
    static let deviceToken: WireRequest = {
        var request = WireRequest("GET", ["api", "auth", "device"], nil)
        request.query = "only=reports"
        return request
    }()

    static let challenge = WireRequest("GET", ["api", "auth", "attest"], nil)

    init(_ proof: AttestBody) { self.init("POST", ["api", "auth", "attest"], proof) }

    private init(_ method: String, _ path: [String], _ body: (any Encodable)?) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // The bodies hold only strings, numbers and flags, so encoding cannot fail.
        (self.method, self.path, self.body) = (method, path, body.flatMap { try? encoder.encode($0) })
    }

    /// - Parameter url: the gateway's address, perhaps with a path.
    func url(at url: URL) -> URL? {
        // A slash inside a name is part of one component.
        let encoded = path.map { $0.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? $0 }
        var text = url.absoluteString
        while text.last == "/" { text.removeLast() }
        text += "/" + encoded.joined(separator: "/")
        return URL(string: query.map { text + "?" + $0 } ?? text)
    }

    private static let plain = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

private struct FollowBody: Encodable {
    var token: String
    var activityID: String
    var registeredAt: Int64
    var startedAt: Int64?
    var hasFrequentPushes: Bool
    /// A card that begins gets the newest update at once.
    let options = ["catch_up": true]

    enum CodingKeys: String, CodingKey {
        case token, options
        case activityID = "activity_id"
        case registeredAt = "registered_at_ms"
        case startedAt = "started_at_ms"
        case hasFrequentPushes = "frequent_pushes_enabled"
    }
}

private struct BatchBody: Encodable {
    struct Entry: Encodable {
        let action = "remove"
        var type: String?
        var attributesType: String?
        var id: String?
        var name: String?
        var at: Int64

        enum CodingKeys: String, CodingKey {
            case action, type, id, name
            case attributesType = "attributes_type"
            case at = "action_ts_ms"
        }
    }
    var activities: [Entry]

    enum CodingKeys: String, CodingKey { case activities = "live_activities" }
}

private struct StartBody: Encodable {
    var token: String
    var registeredAt: Int64

    enum CodingKeys: String, CodingKey {
        case token
        case registeredAt = "registered_at_ms"
    }
}

/// The proof of App Attest about this install: an attestation for a new key, then assertions.
struct AttestBody: Encodable {
    var channel: String
    var key: String
    var challenge: String
    var attestation: String?
    var assertion: String?

    enum CodingKeys: String, CodingKey {
        case challenge, attestation, assertion
        case channel = "channel_id"
        case key = "key_id"
    }
}

private struct ChannelBody: Encodable {
    struct Channel: Encodable {
        var system: String
        let type = "ios"

        enum CodingKeys: String, CodingKey {
            case system = "device_os"
            case type = "device_type"
        }
    }
    var channel: Channel
}

private struct ReceiptsBody: Encodable {
    /// Without `channel_id`: the receipt is of the channel of the token.
    struct Entry: Encodable {
        var push: String
        var event: String

        init(_ receipt: Receipt) { (push, event) = (receipt.push, receipt.event.rawValue) }

        enum CodingKeys: String, CodingKey {
            case event
            case push = "push_id"
        }
    }
    var receipts: [Entry]
}
