internal import LiveActivity
internal import OpenSSL

/// The JWT that stands for one team at APNs. Its text is a credential: it goes into one header and nowhere else.
public struct ProviderToken: Sendable, Hashable, CustomStringConvertible {
    public let jwt: String
    /// `iat`: epoch seconds.
    public let issuedAt: Int

    public init(jwt: String, issuedAt: Int) {
        self.jwt = jwt
        self.issuedAt = issuedAt
    }

    public var description: String { "provider token issued at \(issuedAt)" }
}

extension ProviderToken {
    /// Apple's form: header `alg`, `kid`; claims `iss` and `iat`, the latter a number. `keyID` and `teamID` are letters
    /// and digits (checked with the configuration), so nothing in them needs escaping.
    init(keyID: String, teamID: String, issuedAt: Int, key: P256SigningKey) throws(SigningKeyError) {
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64.encodeURL(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signature = try key.es256(Array("\(header).\(claims)".utf8))
        self.init(jwt: "\(header).\(claims).\(Base64.encodeURL(signature))", issuedAt: issuedAt)
    }
}

/// When a provider token is replaced. Apple: at most once in 20 minutes (else 429 TooManyProviderTokenUpdates), at least
/// once in 60 (else 403 ExpiredProviderToken).
struct RenewalRule: Sendable, Hashable {
    /// Leaves ten minutes for clocks that differ, and for requests that wait in a queue with their header made.
    static let renewalAge = 50 * 60
    static let minimumAge = 20 * 60
    /// So long a token may still be used when its successor is refused as one too many.
    static let lastAge = 58 * 60
    /// A token from the future is refused by APNs; a clock set back by more than this is not jitter.
    static let clockTolerance = 60

    private(set) var issuedAt: Int?
    /// The current token replaced one that APNs had called expired.
    private(set) var followedRejection = false

    /// Whether a new token is due at `now` (epoch seconds) in the course of things.
    func isDue(now: Int) -> Bool {
        guard let issuedAt else { return true }
        return now - issuedAt >= Self.renewalAge || issuedAt - now > Self.clockTolerance
    }

    /// Whether a token that APNs calls expired is replaced now. Not twice in a row within 20 minutes: a new token that
    /// is "expired" too means that a clock is wrong, and renewing at the rate of the answers would be punished.
    func mayFollowRejection(now: Int) -> Bool {
        guard let issuedAt, followedRejection else { return true }
        return now - issuedAt >= Self.minimumAge
    }

    mutating func didIssue(at now: Int, afterRejection: Bool) {
        issuedAt = now
        followedRejection = afterRejection
    }
}
