import LiveActivity
import OpenSSL
import StrictJSON

/// The one thing that a token is good for, beside its channel: a claim of the token, and its value.
struct TokenPurpose: Sendable, Hashable {
    var claim: String
    var value: String
}

/// Tokens that the SDK fetches for its channel and sends with later calls: JWTs signed with HMAC-SHA256. No device has
/// the master secret, from which the key is derived. None is stored, and every gateway makes and reads the same ones.
struct SDKTokens: Sendable {
    /// One hour. The SDK reads `expires_in` as milliseconds. It fetches a new token in the last 30 s and after any 401.
    static let lifetimeMilliseconds: Int64 = 3_600_000
    private static let header = Base64.encodeURL(#"{"alg":"HS256","typ":"JWT"}"#.utf8)
    /// Any other claim is the token's purpose.
    private static let claims: Set = ["aud", "sub", "iat", "exp", "only"]
    let key: HMACKey
    private let audience: String

    init(app: GatewayApp) {
        key = HMACKey(HMACKey(app.masterSecret.utf8).code(for: "lamplighter device token 1".utf8))
        audience = app.key.rawValue
    }

    /// Makes a token. With a purpose it opens the calls for this alone, and no call about the channel. A token for
    /// reports sets no tags and no named user, so a thief reaches no other install's pushes with it.
    func token(
        for channel: ChannelID, purpose: TokenPurpose? = nil, isForReports: Bool = false, now: Int64
    ) -> String {
        var claims: JSON = [
            "aud": .string(audience), "sub": .string(channel.description), "iat": .integer(now / 1_000),
            "exp": .integer((now + Self.lifetimeMilliseconds) / 1_000),
        ]
        if let purpose { claims.append(purpose.claim, .string(purpose.value)) }
        if isForReports { claims.append("only", "reports") }
        let signed = "\(Self.header).\(Base64.encodeURL(claims.bytes))"
        return "\(signed).\(Base64.encodeURL(key.code(for: signed.utf8)))"
    }

    struct Holder: Sendable, Hashable {
        var channel: ChannelID
        var purpose: TokenPurpose?
        var isForReports = false
    }

    /// The holder of a token. Nil unless we issued it for this app and it has not expired. The signature is checked
    /// before any claim.
    func holder(of token: some StringProtocol, now: Int64) -> Holder? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.header, let code = Base64.decodeURL(parts[2]),
            key.isValid(code, for: "\(parts[0]).\(parts[1])".utf8),
            let bytes = Base64.decodeURL(parts[1]), let claims = try? JSONDocument(bytes).root.object(),
            let subject = try? claims.required("sub").string(), let app = try? claims.required("aud").string(),
            let expiry = try? claims.required("exp").integer(), app == audience, now / 1_000 < expiry
        else { return nil }
        guard let channel = try? ChannelID(subject) else { return nil }
        guard let (claim, value) = claims.members.first(where: { !Self.claims.contains($0.key) }) else {
            return Holder(channel: channel, isForReports: claims["only"] != nil)
        }
        guard let value = try? value.string() else { return nil }
        return Holder(channel: channel, purpose: TokenPurpose(claim: claim, value: value))
    }
}
