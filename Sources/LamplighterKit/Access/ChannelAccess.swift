/// The access that the app's backend gives the app to its own channel. An app never holds the app secret.
public struct ChannelAccess: Sendable {
    enum Kind: Sendable {
        case token(String)
        case signature(ChannelSignature)
        case attestation
    }
    let kind: Kind

    /// The `token` of `GET /api/auth/device?only=reports`, which the backend calls with the app secret and
    /// `X-UA-Channel-ID`.
    public static func token(_ token: String) -> ChannelAccess { ChannelAccess(kind: .token(token)) }

    /// Apple's App Attest in place of a backend. The gateway needs `attestation.team_id` for the app. The simulator of
    /// Xcode and most extensions have no App Attest.
    public static let attestation = ChannelAccess(kind: .attestation)

    /// A signature that the backend makes. The app exchanges it for the token, so the backend need not call the
    /// gateway. For an hour a signature opens more than the token: it sets the channel's tags and named user.
    ///
    /// - Parameters:
    ///   - nonce: a random text without `:`.
    ///   - timestamp: in UTC, such as `2026-11-21T18:00:00`.
    ///   - signature: base64 of HMAC-SHA256 with the app secret over app key, channel, nonce and timestamp, joined by
    ///     `:`.
    public static func signature(nonce: String, timestamp: String, signature: String) -> ChannelAccess {
        ChannelAccess(kind: .signature(ChannelSignature(nonce: nonce, timestamp: timestamp, signature: signature)))
    }
}

struct ChannelSignature: Sendable {
    var nonce: String
    var timestamp: String
    var signature: String

    var fields: [(String, String)] {
        [("Authorization", "Bearer \(signature)"), ("X-UA-Nonce", nonce), ("X-UA-Timestamp", timestamp)]
    }
}
