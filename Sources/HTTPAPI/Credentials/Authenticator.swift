import Answers
import HTTPTypes
import LiveActivity
import OpenSSL
import Store

/// Checks credentials by SHA-256 digests in constant time. An unknown app costs the same work and the same questions to
/// Redis as a known one without the credential, so that the time of an answer does not tell which apps there are.
struct Authenticator: Sendable {
    final class App: Sendable {
        let app: GatewayApp
        let secretDigest: SHA256Digest
        let masterDigest: SHA256Digest
        let secretKey: HMACKey
        let tokens: SDKTokens
        /// The credentials of the configuration file, by id.
        let credentials: [String: CheckedCredential]

        init(_ app: GatewayApp) {
            self.app = app
            secretDigest = SHA256Digest(of: app.secret.utf8)
            masterDigest = SHA256Digest(of: app.masterSecret.utf8)
            secretKey = HMACKey(app.secret.utf8)
            tokens = SDKTokens(app: app)
            credentials = Dictionary(
                app.credentials.map { ($0.id, CheckedCredential($0)) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// The most milliseconds that a device's clock may differ from ours in a signed request.
    static let signatureSkew: Int64 = 3_600_000
    private let apps: [String: App]
    /// Takes the place of an app that does not exist. Its secrets are random.
    private let nobody: App
    /// Takes the place of a credential that does not exist.
    private static let noCredential = CheckedCredential(
        AppCredential(
            id: "nobody", scopes: [.read],
            secrets: [AppCredential.Secret(hash: SecretHash(of: SecretHash.newSecret(of: "nobody")).text)]))

    init(_ apps: [GatewayApp]) {
        guard let nobodyKey = try? AppKey("nobody") else { preconditionFailure("`nobody` is a valid app key") }
        self.apps = Dictionary(apps.map { ($0.key.rawValue, App($0)) }, uniquingKeysWith: { first, _ in first })
        let random = UUIDBytes.random().description + UUIDBytes.random().description
        nobody = App(GatewayApp(key: nobodyKey, secret: random, masterSecret: random + "m"))
    }

    /// The app and the credential of a caller. Nil for every failure, so that a caller cannot tell failures apart.
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

    func app(_ key: AppKey) -> App? { apps[key.rawValue] }

    /// The app that a request without a secret names. Nil also for a request with one: nobody may try secrets here.
    func unproven(_ headers: HTTPFields) -> (App, Credential)? {
        guard headers[.authorization] == nil, let app = headers[.airshipAppKey].flatMap({ apps[$0] }) else {
            return nil
        }
        return (app, .unproven)
    }

    /// The credential of a request that has none of the app's two secrets and no token. A credential that does not
    /// exist costs the same hash as one that does.
    /// - Parameter made: the credentials in Redis
    /// - Throws: `StoreError`; an `APIError` for a secret that was right until it ended: its holder may know that
    func issued(
        _ claim: CredentialClaim, _ made: CredentialCache, now: Int64
    ) async throws -> (App, CheckedCredential)? {
        let known = apps[claim.app]
        let app = known ?? nobody
        var end: Int64?
        let found = try await credential(app, claim.id, made, now: now) {
            end = $0.end(of: claim.secret, at: now)
            return $0.fits(claim.secret, at: now)
        }
        guard known != nil else { return nil }
        if found == nil, let end { throw APIError.ended(claim.id, at: end) }
        return found.map { (app, $0) }
    }

    /// The credential with this id, if it fits. Before the answer is no, Redis is asked: another gateway may have made
    /// or rotated the credential a moment ago.
    func credential(
        _ app: App, _ id: String, _ made: CredentialCache, now: Int64, fits: (CheckedCredential) -> Bool
    ) async throws(StoreError) -> CheckedCredential? {
        func used(_ credential: CheckedCredential?) -> CheckedCredential? {
            if credential != nil { made.used(app.app.key, id, at: now) }
            return credential
        }
        var found = app.credentials[id]
        if found == nil {
            found = try await made.recent(app.app.key, id)
            if let found, fits(found) { return used(found) }
            found = try await made.current(app.app.key, id)
        }
        let isRight = fits(found ?? Self.noCredential)
        return used(isRight ? found : nil)
    }

    /// Whether the request sends a secret itself, not a signature or a token that we made.
    static func holdsSecret(_ headers: HTTPFields) -> Bool {
        headers[.authorization]?.prefix(6).lowercased() == "basic " || CredentialClaim(headers) != nil
    }

    private func basic(_ value: Substring) -> (App, Credential)? {
        guard let bytes = Base64.decode(value), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let known = apps[String(decoding: bytes[..<colon], as: UTF8.self)]
        let app = known ?? nobody
        let digest = SHA256Digest(of: bytes[(colon + 1)...])
        // Both comparisons are always made.
        let isMaster = digest == app.masterDigest
        let isApp = digest == app.secretDigest
        guard known != nil, isMaster || isApp else { return nil }
        return (app, isMaster ? .master : .app)
    }

    private func bearer(_ value: Substring, _ headers: HTTPFields, now: Int64) -> (App, Credential)? {
        let key = headers[.airshipAppKey] ?? ""
        let known = apps[key]
        let app = known ?? nobody
        let channelText = headers[.airshipChannel]
        let channel = channelText.flatMap { try? ChannelID($0) }
        guard channelText == nil || channel != nil else { return nil }
        if let nonce = headers[.airshipNonce], let timestamp = headers[.airshipTimestamp] {
            // Refuse a colon, which joins the signed parts: a signature for a channel could pass as one without.
            guard !nonce.isEmpty, !nonce.utf8.contains(UInt8(ascii: ":")) else { return nil }
            let parts = [key] + (channelText.map { [$0] } ?? []) + [nonce, timestamp]
            guard let code = Base64.decode(value),
                app.secretKey.isValid(code, for: parts.joined(separator: ":").utf8),
                let signedAt = TimeText.parse(timestamp), abs(signedAt - now) <= Self.signatureSkew, known != nil
            else { return nil }
            return (app, .signed(channel))
        }
        guard let holder = app.tokens.holder(of: value, now: now), known != nil,
            channel == nil || channel == holder.channel
        else { return nil }
        if let purpose = holder.purpose { return (app, .bound(purpose, holder.channel)) }
        return (app, holder.isForReports ? .reporter(holder.channel) : .device(holder.channel))
    }
}
