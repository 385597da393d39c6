import HTTPTypes
import LiveActivity
import OpenSSL

/// The caller, as far as a secret proves it.
enum Credential: Sendable, Hashable {
    case master
    case app
    /// The SDK with a token that we issued for this channel.
    case device(ChannelID)
    /// The SDK, which signed this request with the app secret: for a channel, or before it has one.
    case signed(ChannelID?)
    /// The SDK with a token that we issued for the contact of this channel.
    case contact(ContactID, ChannelID)

    /// Whether an app on a device sent the request, not a server with a secret.
    var isDevice: Bool {
        switch self {
        case .master, .app: false
        case .device, .signed, .contact: true
        }
    }
}

/// Checks credentials.
///
/// Secrets are compared as SHA-256 digests in constant time. An unknown app costs the same work as a known one.
struct Authenticator: Sendable {
    struct App: Sendable {
        let app: GatewayApp
        let secretDigest: SHA256Digest
        let masterDigest: SHA256Digest
        let secretKey: HMACKey
        let tokens: DeviceTokens

        init(_ app: GatewayApp) {
            self.app = app
            secretDigest = SHA256Digest(of: app.secret.utf8)
            masterDigest = SHA256Digest(of: app.masterSecret.utf8)
            secretKey = HMACKey(app.secret.utf8)
            tokens = DeviceTokens(app: app)
        }
    }

    /// The most milliseconds that a device's clock may differ from ours in a signed request.
    static let signatureSkew: Int64 = 3_600_000

    private let apps: [String: App]
    /// Takes the place of an app that does not exist. Its secrets are random.
    private let nobody: App

    init(_ apps: [GatewayApp]) {
        guard let nobodyKey = try? AppKey("nobody") else { preconditionFailure("`nobody` is a valid app key") }
        self.apps = Dictionary(apps.map { ($0.key.rawValue, App($0)) }, uniquingKeysWith: { first, _ in first })
        let random = UUIDBytes.random().description + UUIDBytes.random().description
        nobody = App(GatewayApp(key: nobodyKey, secret: random, masterSecret: random + "m", bundleID: ""))
    }

    /// Nil for every failure, so that a caller cannot tell them apart.
    func authenticate(_ headers: HTTPFields, now: Int64) -> (App, Credential)? {
        guard let authorization = headers[.authorization], let space = authorization.firstIndex(of: " ") else {
            return nil
        }
        let value = authorization[authorization.index(after: space)...]
        switch authorization[..<space].lowercased() {
        case "basic": return basic(value)
        case "bearer": return bearer(value, headers, now: now)
        default: return nil
        }
    }

    private func basic(_ value: Substring) -> (App, Credential)? {
        guard let bytes = Base64.decode(value), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let known = apps[String(decoding: bytes[..<colon], as: UTF8.self)]
        let app = known ?? nobody
        let digest = SHA256Digest(of: bytes[(colon + 1)...])
        // Digests are compared in constant time. Both comparisons are always made.
        let isMaster = digest == app.masterDigest
        let isApp = digest == app.secretDigest
        guard known != nil, isMaster || isApp else { return nil }
        return (app, isMaster ? .master : .app)
    }

    private func bearer(_ value: Substring, _ headers: HTTPFields, now: Int64) -> (App, Credential)? {
        let key = headers[.airshipAppKey] ?? ""
        let known = apps[key]
        let app = known ?? nobody
        var channel: ChannelID?
        if let text = headers[.airshipChannel] {
            guard let id = try? ChannelID(text) else { return nil }
            channel = id
        }
        if let nonce = headers[.airshipNonce], let timestamp = headers[.airshipTimestamp] {
            // Refuse a colon, because colons join the signed parts. A signature
            // for a channel could otherwise pass as one without a channel.
            guard !nonce.isEmpty, !nonce.utf8.contains(UInt8(ascii: ":")) else { return nil }
            let parts = [key] + (headers[.airshipChannel].map { [$0] } ?? []) + [nonce, timestamp]
            guard let code = Base64.decode(value),
                app.secretKey.isValid(code, for: parts.joined(separator: ":").utf8),
                let signedAt = TimeText.parse(timestamp), abs(signedAt - now) <= Self.signatureSkew, known != nil
            else { return nil }
            return (app, .signed(channel))
        }
        guard let holder = app.tokens.holder(of: value, now: now), known != nil,
            channel == nil || channel == holder.channel
        else { return nil }
        return (app, holder.contact.map { .contact($0, holder.channel) } ?? .device(holder.channel))
    }
}

extension Access {
    /// Whether the credential opens a call. `channel` and `contact` are those that the path names, if it names one.
    func admits(_ credential: Credential, channel: ChannelID?, contact: ContactID? = nil) -> Bool {
        switch (self, credential) {
        case (.anyone, _): true
        case (.master, .master): true
        case (.server, .master), (.server, .app): true
        case (.channel, .master), (.channel, .app): true
        case (.channel, .device(let id)), (.channel, .signed(.some(let id))): id == channel
        case (.newChannel, .master), (.newChannel, .app), (.newChannel, .signed): true
        case (.signedChannel, .signed(.some)), (.signedChannel, .app), (.signedChannel, .master): true
        case (.contact, .app), (.contact, .master): true
        case (.contact, .contact(let id, _)): id == contact
        default: false
        }
    }
}

// Header names, most of them the SDK's. HTTP compares names without case.
extension HTTPField.Name {
    static let airshipAppKey = constant("X-UA-Appkey")
    static let airshipChannel = constant("X-UA-Channel-ID")
    static let airshipNonce = constant("X-UA-Nonce")
    static let airshipTimestamp = constant("X-UA-Timestamp")
    static let idempotencyKey = constant("Idempotency-Key")
    static let forwardedProto = constant("X-Forwarded-Proto")

    private static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("not a header name: \(name)") }
        return name
    }
}
