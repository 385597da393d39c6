import Curl
import Delivery
public import LiveActivity
import OpenSSL

/// The server to which an app's outgoing events are posted. Its owner is trusted with the events, but the address comes
/// from a configuration that others may write, so a request goes to public addresses only, unless the operator allows
/// others, and never follows a redirect.
public struct Webhook: Sendable {
    /// `https://host[:port][/path]`. It may hold a secret, so logs and errors show only `host`.
    public let url: String
    private let key: HMACKey
    /// PEM file of the root certificates; nil: the system's.
    public var caFile: String?
    public var allowsPrivateAddresses = false
    /// For the whole request.
    public var timeout: Duration = .seconds(10)
    /// An event that waits longer than this when an attempt fails becomes a dead event.
    public var giveUpAfter: Duration = .seconds(86_400)

    /// The bytes of an answer that are read. The rest is not needed to know its status.
    private static let mostAnswer = 16 << 10

    public init(url: String, secret: String) {
        self.url = url
        key = HMACKey(secret.utf8)
    }

    /// The part of the URL that may be shown.
    public var host: String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        return String(rest.prefix { !"/?#".contains($0) })
    }

    /// Posts events once.
    /// - Parameters:
    ///   - events: each is JSON.
    ///   - now: epoch milliseconds, for the signature.
    public func post(_ events: [String], of app: AppKey, now: Int64) async -> WebhookResult {
        let body = Self.body(events, app)
        let signature = WebhookSignature(key, body, at: now / 1_000)
        var request = HTTPRequest(
            "POST", url, headers: [("Content-Type", "application/json")] + signature.headers, body: .bytes(body),
            caFile: caFile, timeout: timeout)
        request.refusesPrivateAddresses = !allowsPrivateAddresses
        request.takesCutAnswers = true
        do throws(HTTPFailure) {
            let response = try await HTTPClient().send(request, maximumBody: Self.mostAnswer)
            let asked = response.header("retry-after").flatMap { RetryAfter.seconds($0.utf8, now: Int(now / 1_000)) }
            return WebhookResult(status: response.status, body: response.body, retryAfter: asked)
        } catch {
            return WebhookResult(failure: error.reason)
        }
    }

    /// Asks the server for the head of the page, without an event. Any answer will do, because only a POST is expected.
    /// - Returns: why there is no answer
    public func problem() async -> (reason: String, isPrivateAddress: Bool)? {
        var request = HTTPRequest("HEAD", url, caFile: caFile, timeout: timeout)
        request.refusesPrivateAddresses = !allowsPrivateAddresses
        do throws(HTTPFailure) {
            _ = try await HTTPClient().send(request, maximumBody: Self.mostAnswer)
            return nil
        } catch {
            let isPrivate = if case .privateAddress = error.kind { true } else { false }
            return (error.reason, isPrivate)
        }
    }

    /// The body of a request: `{"app":…,"events":[…]}`. App keys need no escapes.
    static func body(_ events: [String], _ app: AppKey) -> [UInt8] {
        Array(#"{"app":"\#(app)","events":[\#(events.joined(separator: ","))]}"#.utf8)
    }
}

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
