import LiveActivity
import OpenSSL

/// Proves to a webhook that a request comes from Lamplighter: HMAC-SHA256 with the app's webhook secret over the time,
/// a point and the body. The time lets the receiver refuse an old request that somebody sends again.
struct WebhookSignature {
    /// Epoch seconds.
    let timestamp: Int64
    /// `v1=` and hex digits.
    let text: String

    init(_ key: HMACKey, _ body: [UInt8], at timestamp: Int64) {
        self.timestamp = timestamp
        text = "v1=" + Hex.encode(key.code(for: Array("\(timestamp).".utf8) + body))
    }

    var headers: [(String, String)] {
        [("Lamplighter-Timestamp", "\(timestamp)"), ("Lamplighter-Signature", text)]
    }
}
