import LiveActivity
import Redis
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// The calls about an app's webhook.
@Suite struct WebhookCallTests {
    static let policy = EventPolicy(keep: 100, webhook: [.failed, .alarmRaised])

    /// Adds events to the webhook's queue and gives them up.
    private func dead(_ count: Int, _ gateway: GatewayFixture) async throws -> [DeadEvent] {
        let (store, app) = (gateway.store, try gateway.app)
        for number in 0..<count {
            try await store.redis.send(
                RedisCommand(
                    "XADD", store.keys.webhookQueue(app), "*", "id", "e\(number)", "type", "failed", "event",
                    #"{"id":"e\#(number)","type":"failed","app":"\#(app)","at":"2026-11-21T18:00:00.000Z"}"#))
        }
        let queue = store.webhookQueue()
        defer { queue.close() }
        try await queue.giveUp(app, try await queue.read(app, limit: 100)[...], reason: "HTTP 422")
        return try await store.webhooks.dead(app, after: nil, limit: 100)
    }

    @Test func `a webhook that works, fails, and gave up`() async throws {
        try await GatewayFixture.run(events: Self.policy) { gateway in
            let calm = try await gateway.send("GET", "/api/webhook")
            #expect(
                calm.text == #"{"ok":true,"events":["failed","alarm_raised"],"waiting":0,"dead":0,"dropped":0,"#
                    + #""failing":null}"#)
            _ = try await dead(2, gateway)
            let queue = gateway.store.webhookQueue()
            let failure = WebhookFailure(
                since: 1_795_284_000_000, attempts: 3, reason: "HTTP 503", next: 1_795_284_004_000)
            try await queue.failed(try gateway.app, failure)
            queue.close()
            let failing = try await gateway.send("GET", "/api/webhook").text
            #expect(
                failing.contains(
                    #""dead":2,"dropped":0,"failing":{"since":"2026-11-21T18:00:00.000Z","attempts":3,"#
                        + #""reason":"HTTP 503","next_attempt_at":"2026-11-21T18:00:04.000Z"}"#), "\(failing)")
            let metrics = try await gateway.send("GET", "/metrics", user: nil).text
            #expect(metrics.contains(#"lamplighter_fleet_webhook_dead{app="\#(try gateway.app)"} 2"#))
        }
    }

    @Test func `dead events are listed in pages, retried and discarded`() async throws {
        try await GatewayFixture.run(events: Self.policy) { gateway in
            let entries = try await dead(3, gateway).map(\.event.entry)
            let first = try await gateway.send("GET", "/api/webhook/dead?limit=2")
            #expect(first.status == 200 && first.text.contains(#""next":"\#(entries[1])""#), "\(first.text)")
            #expect(first.text.contains(#""reason":"HTTP 422","added_at":"20"#))
            #expect(first.text.contains(#""event":{"id":"e2","type":"failed""#))
            let second = try await gateway.send("GET", "/api/webhook/dead?limit=2&after=\(entries[1])")
            #expect(second.text.contains("e0") && !second.text.contains("e1") && !second.text.contains("next"))
            let one = #"{"entry":"\#(entries[0])"}"#
            #expect(try await gateway.send("POST", "/api/webhook/retry", one).text == #"{"ok":true,"retried":1}"#)
            #expect(try await gateway.send("POST", "/api/webhook/retry", one).status == 404)
            #expect(try await gateway.send("POST", "/api/webhook/discard", one).status == 404)
            let rest = try await gateway.send("POST", "/api/webhook/discard")
            #expect(rest.text == #"{"ok":true,"discarded":2}"#)
            #expect(try await gateway.send("POST", "/api/webhook/retry", "{}").text == #"{"ok":true,"retried":0}"#)
            #expect(try await gateway.send("GET", "/api/webhook").text.contains(#""waiting":1,"dead":0"#))
        }
    }

    @Test(arguments: [#"{"entry":7}"#, #"{"entry":"e1"}"#, #"{"entries":"1-0"}"#, "[]"])
    func `a body that is wrong changes nothing`(body: String) async throws {
        try await GatewayFixture.run(events: Self.policy) { gateway in
            _ = try await dead(1, gateway)
            for call in ["retry", "discard"] {
                let reply = try await gateway.send("POST", "/api/webhook/\(call)", body)
                #expect(reply.status == 400, "\(reply.text)")
            }
            #expect(try await gateway.send("GET", "/api/webhook/dead?after=e1").status == 400)
            for first in ["0-0", "00-000"] {
                #expect(try await gateway.send("GET", "/api/webhook/dead?after=\(first)").status == 200)
            }
            #expect(try await gateway.send("GET", "/api/webhook").text.contains(#""waiting":0,"dead":1"#))
        }
    }

    @Test func `only the master secret opens these calls`() async throws {
        try await GatewayFixture.run { gateway in
            let appSecret = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            for (method, path) in [
                ("GET", "/api/webhook"), ("GET", "/api/webhook/dead"), ("POST", "/api/webhook/retry"),
                ("POST", "/api/webhook/discard"),
            ] {
                let reply = try await gateway.send(method, path, user: appSecret)
                #expect(reply.status == 401, "\(path)")
            }
        }
    }

    @Test func `a publish marks its push only if the app has outgoing events`() async throws {
        for policy in [nil, Self.policy] {
            try await GatewayFixture.run(events: policy) { gateway in
                let reply = try await gateway.publish(
                    publishText(activity: #"{"name":"match-42","event":"update","content_state":{}}"#))
                #expect(reply.status == 202)
                let record = try await gateway.record(of: reply, name: "match-42")
                #expect((record.text("tell") == nil) == (policy == nil))
            }
        }
    }
}
