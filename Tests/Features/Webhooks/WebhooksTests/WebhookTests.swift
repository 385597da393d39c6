import LiveActivity
import OpenSSL
import TestSupport
import Testing

@testable import Webhooks

/// Requests to a real server over TLS.
@Suite struct WebhookTests {
    private let app = try! AppKey("shop")
    private static let secret = "hook-secret-0123456789"

    private func webhook(_ receiver: HTTPSReceiver, _ url: String? = nil, timeout: Duration = .seconds(60)) -> Webhook {
        var webhook = Webhook(url: url ?? receiver.url, secret: Self.secret)
        webhook.caFile = receiver.caFile
        webhook.allowsPrivateAddresses = true
        webhook.timeout = timeout
        return webhook
    }

    @Test func `events arrive in one request, signed over time and body`() async throws {
        let receiver = try HTTPSReceiver { _ in .status(204) }
        let answer = await webhook(receiver).post([#"{"id":"1"}"#, #"{"id":"2"}"#], of: app, now: 1_795_284_000_184)
        #expect(answer.verdict == .accepted && answer.status == 204)
        let request = try #require(receiver.requests.first)
        #expect(request.line == "POST /hook HTTP/1.1")
        #expect(request.text == #"{"app":"shop","events":[{"id":"1"},{"id":"2"}]}"#)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["lamplighter-timestamp"] == "1795284000")
        // Python: hmac.new(secret, timestamp + b"." + body, hashlib.sha256).hexdigest()
        #expect(
            request.headers["lamplighter-signature"]
                == "v1=9b06f153162157e5a4d82fb995c09c25506c6fd0409d0f627c6a89d612fd4b64")
    }

    @Test func `another body, another time or another secret has another signature`() {
        let key = HMACKey("one-secret".utf8)
        let signature = WebhookSignature(key, [1, 2], at: 7).text
        #expect(WebhookSignature(key, [1, 3], at: 7).text != signature)
        #expect(WebhookSignature(key, [1, 2], at: 8).text != signature)
        #expect(WebhookSignature(HMACKey("two-secret".utf8), [1, 2], at: 7).text != signature)
    }

    @Test func `a name that leads to this machine is not connected to, unless that is allowed`() async throws {
        let receiver = try HTTPSReceiver()
        for url in [receiver.url, "https://127.0.0.1:\(receiver.port)/hook", "https://[::1]:\(receiver.port)/hook"] {
            var webhook = webhook(receiver, url)
            webhook.allowsPrivateAddresses = false
            let answer = await webhook.post(["{}"], of: app, now: 0)
            #expect(answer.status == nil && answer.verdict == .failed)
            #expect(answer.reason.contains("not a public address"), "\(answer.reason)")
        }
        #expect(receiver.connections == 0)
        #expect(await webhook(receiver).post(["{}"], of: app, now: 0).verdict == .accepted)
    }

    @Test func `a redirect is not followed`() async throws {
        let receiver = try HTTPSReceiver { _ in .status(307, headers: [("Location", "/other")]) }
        let answer = await webhook(receiver).post(["{}"], of: app, now: 0)
        #expect(answer.verdict == .failed && answer.reason == "HTTP 307: redirects are not followed")
        #expect(receiver.requests.count == 1)
    }

    @Test(arguments: [
        (200, WebhookResult.Verdict.accepted), (202, .accepted), (299, .accepted), (400, .refused), (413, .refused),
        (422, .refused), (401, .failed), (404, .failed), (410, .failed), (429, .failed), (500, .failed), (503, .failed),
    ])
    func `the status says whether events are taken`(status: Int, verdict: WebhookResult.Verdict) async throws {
        let receiver = try HTTPSReceiver { _ in .status(status, body: Array("no\u{1B}[31m\n".utf8)) }
        let answer = await webhook(receiver).post(["{}"], of: app, now: 0)
        #expect(answer.verdict == verdict && answer.status == status)
        #expect(answer.text == "no [31m ", "what the server says cannot move a cursor")
    }

    @Test func `a long answer is cut, and its status counts`() async throws {
        let receiver = try HTTPSReceiver { _ in .status(200, body: Array(repeating: 0x61, count: 4 << 20)) }
        let answer = await webhook(receiver).post(["{}"], of: app, now: 0)
        #expect(answer.verdict == .accepted && answer.text.count == 300)
    }

    @Test func `a body that does not end is given up, and the status counts`() async throws {
        let receiver = try HTTPSReceiver { _ in .beginning(200, body: Array("drip".utf8)) }
        let answer = await webhook(receiver, timeout: .milliseconds(500)).post(["{}"], of: app, now: 0)
        #expect(answer.verdict == .accepted && answer.status == 200 && answer.text == "drip")
    }

    @Test(arguments: [
        ("20", 20), ("Sat, 21 Nov 2026 18:00:20 GMT", 20), ("99999999999999999999", 3_600), ("soon", nil), (nil, nil),
    ])
    func `the pause that an answer asks for is read in both forms`(header: String?, seconds: Int?) async throws {
        let receiver = try HTTPSReceiver { _ in .status(429, headers: header.map { [("Retry-After", $0)] } ?? []) }
        let answer = await webhook(receiver).post(["{}"], of: app, now: 1_795_284_000_184)
        #expect(answer.verdict == .failed && answer.retryAfter == seconds)
    }

    @Test func `an answer with endless fields is a failure`() async throws {
        let field = ("X", String(repeating: "a", count: 60_000))
        let receiver = try HTTPSReceiver { _ in .status(200, headers: Array(repeating: field, count: 20)) }
        #expect(await webhook(receiver).post(["{}"], of: app, now: 0).verdict == .failed)
    }

    @Test func `a server that says nothing fails in time`() async throws {
        let receiver = try HTTPSReceiver { _ in .silence }
        let answer = await webhook(receiver, timeout: .milliseconds(500)).post(["{}"], of: app, now: 0)
        #expect(answer.status == nil && answer.verdict == .failed)
    }

    @Test func `a certificate that is not trusted gets no event`() async throws {
        let (receiver, other) = (try HTTPSReceiver(), try HTTPSReceiver())
        var webhook = webhook(receiver)
        webhook.caFile = other.caFile
        let answer = await webhook.post(["{}"], of: app, now: 0)
        #expect(answer.verdict == .failed && receiver.requests.isEmpty)
    }

    @Test(arguments: [
        ("https://hooks.example.com/T0/secret?x=1", "hooks.example.com"), ("https://h:8443", "h:8443"),
        ("https://h?token=1", "h"),
    ])
    func `only the host of an address is shown`(url: String, host: String) async {
        let webhook = Webhook(url: url, secret: Self.secret)
        #expect(webhook.host == host)
    }

    @Test func `a failure does not show the address`() async throws {
        let port = try freePort()
        var webhook = Webhook(url: "https://127.0.0.1:\(port)/very-secret", secret: Self.secret)
        webhook.allowsPrivateAddresses = true
        let answer = await webhook.post(["{}"], of: app, now: 0)
        #expect(answer.verdict == .failed && !answer.reason.contains("very-secret"), "\(answer.reason)")
    }
}
