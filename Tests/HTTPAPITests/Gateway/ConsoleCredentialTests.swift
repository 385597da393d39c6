import Answers
import Curl
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Signing in to the console with a credential instead of the master secret.
@Suite struct ConsoleCredentialTests {
    /// A browser that is signed in with a new credential.
    private func browser(
        _ gateway: GatewayFixture, _ body: String
    ) async throws -> (browser: ConsoleBrowser, secret: String) {
        let secret = try await CredentialTests.create(gateway, body)
        var browser = ConsoleBrowser(gateway)
        let reply = try await browser.signIn(GatewayFixture.key, secret)
        try #require(reply.status == 303, "\(reply.text)")
        return (browser, secret)
    }

    private func publish(_ browser: ConsoleBrowser, _ token: String, name: String) async throws -> Reply {
        try await browser.post(
            "/console/compose/publish",
            [
                "csrf": token, "name": name, "event": "update", "audience": "all", "state": "{}", "priority": "10",
                "key": "console/1",
            ])
    }

    @Test func `the session does what the scopes allow, and its name stands in the log of actions`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let (browser, _) = try await browser(gateway, #"{"id":"feed","scopes":["publish","read"]}"#)
            let home = try await browser.get("/console").text
            #expect(home.contains("signed in with the credential feed") && home.contains("· feed"))
            #expect(home.contains("/console/compose") && !home.contains("/console/actions"), "\(home)")
            #expect(!home.contains("Pause the app"))
            let token = try await browser.formToken()
            let published = try await publish(browser, token, name: "match-1")
            #expect(published.status == 303, "\(published.text)")
            let page = try await browser.get(try #require(published.header("location")))
            #expect(page.text.contains("feed from 127.0.0.1"), "\(page.text)")
            for (path, scope) in [
                ("/console/pause", "operate"), ("/console/names/match-1", "operate"),
                ("/console/quarantine", "operate"), ("/console/devices/c/forget", "track"),
            ] {
                let refused = try await browser.post(path, ["csrf": token, "to": "pause", "confirmed": "yes"])
                #expect(refused.status == 403, "\(path)")
                #expect(refused.text.contains("The credential feed lacks the scope \(scope)"), "\(refused.text)")
            }
            let log = try await browser.get("/console/actions")
            #expect(log.status == 403 && log.text.contains("lacks the scope operate"))
            #expect(try await gateway.send("GET", "/api/pauses").text == #"{"ok":true,"paused":[]}"#)
            // A publish is told beside its request.
            try await eventually("the log of actions has the publish") {
                let told = try await ActionTests.actions(gateway, "?credential=feed")
                return try told.map { try $0.required("action").string() } == ["publish"]
            }
        }
    }

    @Test func `each page refuses a credential that lacks its scope, and shows no word of the app`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await browser(gateway, #"{"id":"look","scopes":["read"]}"#)
            let token = try await browser.formToken()
            for route in Route.all where route.scope != .read && route.scope != nil {
                let path = route.pattern.replacing("{push}", with: "x").replacing("{name}", with: "n")
                    .replacing("{device}", with: "d").replacing("{schedule}", with: "s")
                    .replacing("{credential}", with: "c").replacing("{type}", with: "t")
                let reply =
                    route.method == "GET"
                    ? try await browser.get(path)
                    : try await browser.post(path, ["csrf": token, "to": "pause", "confirmed": "yes"])
                #expect(reply.status == 403 && reply.text.contains("lacks the scope"), "\(path): \(reply.status)")
            }
        }
    }

    @Test func `the secret of a credential for some names says how many names begin so`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            func make(_ id: String, _ prefix: String) async throws -> Reply {
                try await browser.post(
                    "/console/credentials",
                    ["csrf": token, "id": id, "scope_read": "yes", "name_prefix": prefix])
            }
            let made = try await make("desk", "match-*").text
            #expect(made.contains("that begin with match- (1 name begins so now)"), "\(made)")
            for (id, prefix) in [("inner", "ma*-"), ("two", "match-**"), ("all", "*")] {
                let refused = try await make(id, prefix)
                #expect(refused.status == 422 && refused.text.contains("no * stands before its end"), "\(prefix)")
            }
            let list = try await browser.get("/console/credentials").text
            #expect(list.contains(">match-…</span>") && !list.contains(">inner<"), "\(list)")
        }
    }

    @Test func `a credential for some names opens these, and says so elsewhere`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-1", "order-7"] { try await gateway.follow(name) }
            let foreign = try await gateway.publish(CredentialTests.update("order-7")).strings("push_ids")[0]
            let (browser, _) = try await browser(
                gateway, #"{"id":"m","scopes":["publish","read","track","operate"],"name_prefix":"match-"}"#)
            let token = try await browser.formToken()
            for path in [
                "/console", "/console/names", "/console/pushes", "/console/schedules", "/console/dead",
                "/console/templates", "/console/alarms",
            ] {
                let page = try await browser.get(path)
                #expect(page.status == 200 && page.text.contains("names that begin with"), "\(path)")
                #expect(!page.text.contains("order-7"), "\(page.text)")
            }
            let found = try await browser.get("/console/names?name=match-1")
            #expect(found.header("location") == "/console/names/match-1")
            #expect(try await browser.get("/console/names/match-1").status == 200)
            #expect(try await browser.get("/console/pushes?name=match-1").status == 200)
            for path in [
                "/console/names/order-7", "/console/pushes?name=order-7", "/console/devices", "/console/devices/c",
                "/console/broadcasts", "/console/quarantine", "/console/actions", "/console/credentials",
                "/console/schemas", "/console/settings",
            ] {
                let page = try await browser.get(path)
                #expect(page.status == 403 && page.text.contains("begin with"), "\(path): \(page.status)")
            }
            #expect(try await browser.get("/console/pushes/\(foreign)").status == 404)
            #expect(try await publish(browser, token, name: "match-1").status == 303)
            let back = try #require(try await publish(browser, token, name: "order-7").header("location"))
            let refused = try await browser.get(back)
            #expect(refused.status == 403 && refused.text.contains("match-"), "\(refused.text)")
            let paused = try await browser.post(
                "/console/names/match-1", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(paused.status == 303)
            #expect(try await browser.get("/console/names/match-1").text.contains("This name is paused"))
            let app = try await browser.post("/console/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(app.status == 403)
        }
    }

    @Test func `a schedule of a credential for some names is in its list, and can be cancelled there`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await browser(
                gateway, #"{"id":"m","scopes":["publish","read"],"name_prefix":"match-"}"#)
            let reply = try await browser.post(
                "/console/compose/publish",
                [
                    "csrf": try await browser.formToken(), "name": "match-1", "event": "update", "audience": "all",
                    "state": "{}", "priority": "10", "send_at": "2027-03-01T00:00", "key": "console/2",
                ])
            #expect(reply.header("location") == "/console/schedules?notice=scheduled")
            let list = try await browser.get("/console/schedules").text
            let start = try #require(list.firstRange(of: "/console/pushes/")).lowerBound
            let page = String(list[start...].prefix { $0 != "\"" })
            let push = try await browser.get(page)
            #expect(push.status == 200, "\(push.text)")
            #expect(push.text.contains("scheduled"))
            #expect(push.text.contains(">due ") && push.text.contains("2027-03-01 00:00:00 UTC"), "\(push.text)")
            #expect(push.text.contains("Cancel the schedule") && !push.text.contains("Cancel the push"))
            let id = String(page.dropFirst("/console/pushes/".count))
            let cancelled = try await browser.post(
                "/console/pushes/\(id)",
                ["csrf": try await browser.formToken(), "do": "unschedule", "confirmed": "yes"])
            #expect(cancelled.header("location") == "/console/schedules?notice=schedule-cancelled")
            #expect(try await browser.get(page).text.contains("cancelled"))
        }
    }

    @Test func `without the scope read nobody gets in, and guesses with a right secret stay counted`() async throws {
        try await GatewayFixture.run { gateway in
            let secret = try await CredentialTests.create(gateway, #"{"id":"backend","scopes":["track","publish"]}"#)
            var browser = ConsoleBrowser(gateway)
            let reply = try await browser.signIn(GatewayFixture.key, secret)
            #expect(reply.status == 403 && reply.header("set-cookie") == nil)
            #expect(reply.text.contains("The credential backend lacks the scope read"), "\(reply.text)")
            // The holder of one secret cannot guess another one for longer than a stranger.
            for _ in 0..<Console.mostAttempts {
                #expect(try await browser.signIn(GatewayFixture.key, "guess").status == 401)
                if try await browser.signIn(GatewayFixture.key, secret).status == 429 { break }
            }
            #expect(try await browser.signIn(GatewayFixture.key, "guess").status == 429)
        }
    }

    @Test func `right sign-ins are not counted`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            for _ in 0..<Console.mostAttemptsOfNetwork + 2 {
                let reply = try await browser.signIn()
                #expect(reply.status == 303)
            }
        }
    }

    @Test func `a revoked credential ends its sessions, and one of the same id that is made later opens none`()
        async throws
    {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await browser(gateway, #"{"id":"feed","scopes":["read"]}"#)
            #expect(try await browser.get("/console").status == 200)
            #expect(try await gateway.send("DELETE", "/api/credentials/feed").status == 204)
            #expect(try await browser.get("/console").status == 303)
            _ = try await CredentialTests.create(gateway, #"{"id":"feed","scopes":["read","operate"]}"#)
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `a rotation ends the sessions of the old secret when that one ends`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await browser(gateway, #"{"id":"feed","scopes":["read"]}"#)
            #expect(try await gateway.send("POST", "/api/credentials/feed/rotate").status == 200)
            #expect(try await browser.get("/console").status == 200, "the old secret is valid for a day")
            #expect(try await gateway.send("POST", "/api/credentials/feed/rotate", #"{"keep":0}"#).status == 200)
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `a credential that expires ends its sessions`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, _) = try await browser(gateway, #"{"id":"feed","scopes":["read"],"expires_in":60}"#)
            #expect(try await browser.get("/console").status == 200)
            let app = try gateway.app
            let made = try await gateway.store.credentials.all(app).credentials[0]
            var over = made
            over.expires = testNow
            #expect(try await gateway.store.credentials.change(app, "feed", from: made, to: over) == .done)
            try await eventually("the session is over") { try await browser.get("/console").status == 303 }
        }
    }

    @Test func `a session is good at every gateway that reads the same secret from a file`() async throws {
        let secret = "a secret of twenty-four and more"
        let place = "\(GatewayFixture.key)/ops"
        let hash = SecretHash(of: secret, for: place)
        #expect(hash == SecretHash(of: secret, for: place), "each gateway hashes it for itself")
        #expect(hash != SecretHash(of: secret, for: "other-app/ops"))
        try await GatewayFixture.run(configure: {
            $0.apps[0].credentials = [
                AppCredential(id: "ops", scopes: [.read], secrets: [AppCredential.Secret(hash: hash.text)])
            ]
        }) { gateway in
            var browser = ConsoleBrowser(gateway)
            #expect(try await browser.signIn(GatewayFixture.key, secret).status == 401, "it does not begin with its id")
            #expect(try await browser.signIn(place, secret).status == 303)
            #expect(try await browser.get("/console").status == 200)
            let id = try #require(browser.cookie)
            let record = String(
                decoding: try #require(try await gateway.store.console.session(id, life: .seconds(60))), as: UTF8.self)
            #expect(!record.contains(secret) && !record.contains(hash.text))
        }
    }
}
