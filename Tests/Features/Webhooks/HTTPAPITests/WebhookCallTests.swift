import LiveActivity
import Redis
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// The calls about an app's webhook.
@Suite struct WebhookCallTests {
    static let policy = EventPolicy(keep: 100, queued: [.failed, .alarmRaised])

    /// Adds events to the webhook's queue and gives them up.
    private func dead(_ count: Int, _ gateway: GatewayFixture) async throws -> [DeadEvent] {
        let (store, app) = (gateway.store, try gateway.app)
        for number in 0..<count {
            try await store.redis.send(
                RedisCommand(
                    "XADD", store.keys.eventQueue(app), "*", "id", "e\(number)", "type", "failed", "event",
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

    @Test func `Home has a lamp for a webhook, and none without one`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            #expect(try await browser.get("/console").text.contains(">Webhook<") == false)
        }
        try await GatewayFixture.run(events: Self.policy) { gateway in
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let calm = try await browser.get("/console").text
            #expect(calm.contains(#"<li class="lamp"><span class="label">Webhook</span><strong"#), "\(calm)")
            let queue = gateway.store.webhookQueue()
            defer { queue.close() }
            let now = gateway.store.time.now()
            try await queue.failed(
                try gateway.app, WebhookFailure(since: now, attempts: 3, reason: "HTTP 503", next: now + 4_000))
            let failing = try await browser.get("/console").text
            #expect(failing.contains(#"<li class="lamp bad"><span class="label">Webhook</span>"#), "\(failing)")
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

    @Test func `an app without outgoing events has no numbers of a webhook`() async throws {
        try await GatewayFixture.run { gateway in
            let metrics = try await gateway.send("GET", "/metrics", user: nil).text
            #expect(!metrics.contains("lamplighter_fleet_webhook_dead{"))
        }
    }

    @Test func `a credential for some names opens neither the calls nor the page`() async throws {
        try await GatewayFixture.run(events: Self.policy) { gateway in
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"m","scopes":["read","operate"],"name_prefix":"match-"}"#)
            let user = "\(GatewayFixture.key):\(secret)"
            #expect(try await gateway.send("GET", "/api/webhook", user: user).status == 403)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn(GatewayFixture.key, secret)
            #expect(try await browser.get("/console/events").status == 403)
        }
    }
}

/// The page of the events that the webhook did not take.
@Suite struct EventsPageTests {
    @Test func `without a webhook no page says that it took the events`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/events").text
            #expect(page.contains("The app has no webhook") && !page.contains("has taken"), "\(page)")
        }
    }

    @Test func `events that the webhook did not take are tried again or dropped`() async throws {
        try await GatewayFixture.run(events: WebhookCallTests.policy) { gateway in
            for number in 1...3 { _ = try await gateway.deadEvent(number) }
            let (browser, csrf) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/events").text
            #expect(page.contains("The webhook takes events.") && page.contains(">3</strong>"), "\(page)")
            let start = try #require(page.firstRange(of: #"name="entry" value=""#)).upperBound
            let entry = String(page[start...].prefix { $0 != "\"" })
            let retried = try await browser.post("/console/events", ["csrf": csrf, "entry": entry, "to": "retry"])
            #expect(retried.header("location")?.contains("events-retried") == true)
            let asked = try await browser.post("/console/events", ["csrf": csrf, "to": "drop"])
            #expect(asked.text.contains("Drop all undelivered events?"))
            _ = try await browser.post("/console/events", ["csrf": csrf, "to": "drop", "confirmed": "yes"])
            let after = try await gateway.send("GET", "/api/webhook").text
            #expect(after.contains(#""waiting":1,"dead":0"#), "\(after)")
        }
    }
}

extension ChangingCall {
    static let webhooks: [ChangingCall] = [
        ChangingCall("POST /api/webhook/retry", repeated: [404]) { fixture, number in
            let entry = try await fixture.deadEvent(number)
            return PreparedCall(path: "/api/webhook/retry", body: #"{"entry":"\#(entry)"}"#) {
                let queue = fixture.store.keys.eventQueue(try fixture.app)
                let waiting = try await fixture.store.redis.run("XRANGE", queue, "-", "+").events().events
                let count = waiting.count { $0.text.contains(#""e\#(number)""#) }
                return try await fixture.isDead(entry) == (count == 1) ? -1 : count
            }
        },
        ChangingCall("POST /api/webhook/discard", repeated: [404]) { fixture, number in
            let entry = try await fixture.deadEvent(number)
            return PreparedCall(path: "/api/webhook/discard", body: #"{"entry":"\#(entry)"}"#) {
                (try await fixture.isDead(entry) == false).part
            }
        },
    ]
}

extension ActionWordsTests {
    static let webhooks = [
        ("POST /api/webhook/retry", "retry_events"), ("POST /api/webhook/discard", "discard_events"),
    ]
}

extension ConsoleFuzzTests {
    static let webhooks = ("/console/events", Form(fields: ["entry", "to"]))
}

extension AnswersFixture {
    fileprivate func deadEvent(_ number: Int) async throws -> String { try await gateway.deadEvent(number) }

    fileprivate func isDead(_ entry: String) async throws -> Bool {
        try await store.redis.run("XRANGE", store.keys.deadEvents(try app), .string(entry), .string(entry)).count > 0
    }
}

extension GatewayFixture {
    /// An event that the webhook did not take.
    fileprivate func deadEvent(_ number: Int) async throws -> String {
        try await store.redis.run(
            "XADD", store.keys.deadEvents(try app), "*", "id", "e\(number)", "type", "failed", "event",
            #"{"id":"e\#(number)","type":"failed","app":"a","at":"2026-11-21T18:00:00.000Z"}"#, "reason", "HTTP 422"
        ).string()
    }
}
