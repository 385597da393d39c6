import Curl
import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The promises of the console against other sites, strangers and texts of others.
@Suite struct ConsoleSecurityTests {
    @Test func `every page is fenced off: no inline script, no frame, no cache, no sniffing`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            var pages = [try await browser.get("/console/sign-in"), try await browser.get("/console/names")]
            _ = try await browser.signIn()
            for route in Route.all
            where route.method == "GET" && !route.pattern.contains("{") && !route.pattern.hasSuffix("live") {
                let page = try await browser.get(route.pattern)
                // The question before a publish needs a draft, and leads to Compose without one.
                let status = route.pattern == "/console/compose/publish" ? 303 : 200
                #expect(page.status == status, "\(route.pattern): \(page.text.prefix(400))")
                pages.append(page)
            }
            pages.append(try await browser.get("/console/nowhere"))
            pages.append(try await browser.post("/console/pause", ["to": "pause"]))
            for page in pages {
                let policy = try #require(page.header("content-security-policy"))
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(policy.contains("form-action 'self'") && policy.contains("base-uri 'none'"))
                #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("http"))
                #expect(page.header("x-frame-options") == "DENY")
                #expect(page.header("x-content-type-options") == "nosniff")
                #expect(page.header("referrer-policy") == "same-origin")
                #expect(page.header("cache-control") == "no-store")
                #expect(!page.text.contains("<script>") && !page.text.contains("style="))
                #expect(!page.text.contains(GatewayFixture.masterSecret))
            }
        }
    }

    @Test func `files and live parts are fenced off too, and a live part needs a session`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            var answers = [try await browser.get("/console/live")]
            #expect(answers[0].status == 303, "nobody is signed in")
            for asset in Asset.all { answers.append(try await browser.get(asset.path)) }
            _ = try await browser.signIn()
            answers.append(try await browser.get("/console/pushes/none/live"))
            answers.append(try await browser.post("/console/sign-in", ["app_key": "demo"]))
            for answer in answers {
                let policy = try #require(answer.header("content-security-policy"))
                #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
                #expect(answer.header("x-content-type-options") == "nosniff")
                #expect(answer.header("x-frame-options") == "DENY")
                #expect(answer.header("cross-origin-resource-policy") == "same-origin")
                #expect(answer.header("set-cookie") == nil)
            }
        }
    }

    @Test(arguments: [
        ("wrong", GatewayFixture.key), (GatewayFixture.secret, GatewayFixture.key), ("other-m", GatewayFixture.key),
        (GatewayFixture.masterSecret, "other-app"), (GatewayFixture.masterSecret, "nobody"), ("", ""),
    ])
    func `nobody gets in without the app's master secret`(secret: String, key: String) async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            let reply = try await browser.signIn(key, secret)
            #expect(reply.status == 401 && reply.header("set-cookie") == nil)
            #expect(try await browser.get("/console").status == 303)
            let made = ConsoleBrowser(gateway, cookie: String(repeating: "a", count: 64))
            #expect(try await made.get("/console").status == 303)
        }
    }

    @Test func `the cookie is out of reach of scripts and of other sites, and of plain HTTP behind TLS`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            let signedIn = try await browser.signIn()
            let plain = try #require(signedIn.header("set-cookie"))
            #expect(plain.contains("HttpOnly") && plain.contains("SameSite=Strict") && plain.contains("Path=/console"))
            #expect(!plain.contains("Secure"))
            let isSecure = [("X-Forwarded-Proto", "https")]
            let secure = try #require(try await browser.signIn(headers: isSecure).header("set-cookie"))
            // A browser takes the prefix from this very host alone, with these two.
            #expect(secure.hasPrefix("__Host-lamplighter_console=") && secure.hasSuffix("; Path=/; Secure"))
            // Another host of the domain can set the plain name: it counts for nothing over TLS.
            let id = try #require(browser.cookie)
            let planted = [("Cookie", "lamplighter_console=\(id)")] + isSecure
            #expect(try await ConsoleBrowser(gateway).get("/console", headers: planted).status == 303)
            let own = [("Cookie", "lamplighter_console=x; __Host-lamplighter_console=\(id)")] + isSecure
            #expect(try await ConsoleBrowser(gateway).get("/console", headers: own).status == 200)
            #expect(try await gateway.send("DELETE", "/console", user: nil).header("allow") == "GET, HEAD, POST")
            #expect(try await gateway.send("OPTIONS", "/console/sign-in", user: nil).status == 405)
        }
        try await GatewayFixture.run(configure: { $0.publicURL = "https://push.example.com" }) { gateway in
            var browser = ConsoleBrowser(gateway)
            let reply = try await browser.signIn()
            #expect(reply.header("set-cookie")?.hasSuffix("; Secure") == true)
        }
    }

    @Test func `a session is new at each sign-in, and one that was planted before is worth nothing`() async throws {
        try await GatewayFixture.run { gateway in
            let planted = String(repeating: "b", count: 64)
            var victim = ConsoleBrowser(gateway, cookie: planted)
            _ = try await victim.signIn()
            #expect(victim.cookie != planted)
            #expect(try await ConsoleBrowser(gateway, cookie: planted).get("/console").status == 303)
            // A session of somebody else in this browser ends, too.
            let first = victim.cookie
            _ = try await victim.signIn()
            #expect(victim.cookie != first)
            #expect(try await ConsoleBrowser(gateway, cookie: first).get("/console").status == 303)
        }
    }

    @Test func `signing out ends the session on the server`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let reply = try await browser.post("/console/sign-out", ["csrf": try await browser.formToken()])
            #expect(reply.status == 303)
            #expect(reply.header("set-cookie")?.contains("Max-Age=0") == true)
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `a new master secret ends the sessions of the old one`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let id = try #require(browser.cookie)
            let record = try #require(try await gateway.store.console.session(id, life: .seconds(60)))
            let text = String(decoding: record, as: UTF8.self)
            #expect(!text.contains(GatewayFixture.masterSecret) && !text.contains(id))
            // As if the secret had been another one at the sign-in.
            let old = ConsoleIdentity(app: try gateway.app, proof: "00")
            let session = ConsoleSession(old)
            try await gateway.store.console.begin(session.id, session.record, life: .seconds(60))
            #expect(try await ConsoleBrowser(gateway, cookie: session.id).get("/console").status == 303)
        }
    }

    @Test func `Redis holds no session's id`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let id = try #require(browser.cookie)
            let keys = try await gateway.store.redis.send(RedisCommand("KEYS", ["*"])).array().map { try $0.string() }
            #expect(keys.contains { $0.contains("console:s:") } && !keys.contains { $0.contains(id) })
        }
    }

    @Test func `a form of another site changes nothing`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let token = try await browser.formToken()
            var stranger = ConsoleBrowser(gateway)
            _ = try await stranger.signIn()
            for route in Route.all where route.method == "POST" {
                let path = route.pattern.replacing("{push}", with: "x").replacing("{name}", with: "n")
                    .replacing("{device}", with: "d").replacing("{schedule}", with: "s")
                for wrong in ["", "x", try await stranger.formToken()] {
                    let reply = try await browser.post(path, ["csrf": wrong, "to": "pause", "confirmed": "yes"])
                    #expect(reply.status == 403, "\(path)")
                }
                for header in [
                    ("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example"), ("Origin", "null"),
                ] {
                    let reply = try await browser.post(
                        path, ["csrf": token, "to": "pause", "confirmed": "yes"], headers: [header])
                    #expect(reply.status == 403, "\(path) \(header)")
                }
            }
            #expect(try await gateway.send("GET", "/api/pauses").text == #"{"ok":true,"paused":[]}"#)
            // The same for signing in: a stranger's page could sign the reader in as the stranger.
            let login = try await browser.signIn(headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(login.status == 403 && login.header("set-cookie") == nil)
            let right = try await browser.post("/console/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(right.status == 303)
        }
    }

    @Test func `guesses are slowed for a network and an app key, and the right secret too`() async throws {
        let proxies = TrustedProxies(try #require(AddressRanges("127.0.0.1")))
        try await GatewayFixture.run(configure: { $0.trustedProxies = proxies }) { gateway in
            var browser = ConsoleBrowser(gateway)
            let from = [("X-Forwarded-For", "203.0.113.7")]
            for _ in 0..<Console.mostAttempts {
                #expect(try await browser.signIn(GatewayFixture.key, "guess", headers: from).status == 401)
            }
            let late = try await browser.signIn(headers: from)
            #expect(late.status == 429)
            let seconds = try #require(late.header("retry-after").flatMap { Int($0) })
            #expect((1...600).contains(seconds))
            // A browser that goes on does not use up what its network has for other apps.
            for _ in 0..<Console.mostAttemptsOfNetwork {
                #expect(try await browser.signIn(GatewayFixture.key, "guess", headers: from).status == 429)
            }
            // Not for others: neither for another address nor for another app.
            #expect(try await browser.signIn(headers: [("X-Forwarded-For", "203.0.113.8")]).status == 303)
            #expect(try await browser.signIn("other-app", "other-m", headers: from).status == 303)
        }
    }

    @Test func `a network cannot go on with other app keys`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            for number in 0..<Console.mostAttemptsOfNetwork {
                // This header is not trusted here, so it does not make another network.
                let header = ("X-Forwarded-For", "203.0.113.\(number)")
                let guess = try await browser.signIn("app-\(number)", "guess", headers: [header])
                #expect(guess.status == 401)
            }
            let right = try await browser.signIn()
            #expect(right.status == 429)
            func keys() async throws -> Int {
                try await gateway.store.redis.send(RedisCommand("KEYS", ["*"])).array().count
            }
            let before = try await keys()
            for number in 0..<5 {
                #expect(try await browser.signIn("invented-\(number)", "guess").status == 429)
            }
            #expect(try await keys() == before, "a stranger cannot fill Redis with app keys that do not exist")
        }
    }

    @Test func `the limit of an address counts requests to the console too`() async throws {
        try await GatewayFixture.run(configure: {
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.requestsPerAddress = 1
        }) { gateway in
            let browser = ConsoleBrowser(gateway)
            let from = [("X-Forwarded-For", "203.0.113.7")]
            var refused = 0
            for _ in 0..<50 where refused == 0 {
                if try await browser.get("/console/sign-in", headers: from).status == 429 { refused += 1 }
            }
            #expect(refused == 1)
            #expect(try await browser.get("/console/sign-in").status == 200)
        }
    }

    @Test(arguments: [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "\"\u{301} onfocus=alert(1) autofocus=\"",
        "'; alert(1) //", "{{csrf}}", "</textarea><script>alert(1)</script>",
    ])
    func `names, states, users and error texts show as text`(evil: String) async throws {
        try await GatewayFixture.run { gateway in
            let name = evil
            let encoded = name.urlComponent
            let token = #"{"token":"aabbccdd"}"#
            #expect(try await gateway.send("PUT", "/api/activities/\(encoded)/channels/c-1", token).status == 200)
            let state = JSON.object([JSON.Member(evil, .string(evil))]).text
            let text =
                #"{"name":\#(JSON.string(name).text),"event":"update","content_state":\#(state),"alert":{"title":\#(JSON.string(evil).text),"body":"b"}}"#
            let published = try await gateway.publish(publishText(activity: text))
            try #require(published.status == 202, "\(published.text)")
            let id = try published.strings("push_ids")[0]
            let user = #"{"channel_id":"c-1","device_type":"ios","named_user_id":\#(JSON.string(evil).text)}"#
            #expect(try await gateway.send("POST", "/api/named_users/associate", user).status == 200)
            // A schedule's own name, and a tag, where they are allowed.
            let time = #""schedule":{"scheduled_time":"2027-01-01T00:00:00"}"#
            let later = #"{"name":\#(JSON.string(evil).text),\#(time),"push":\#(publishText(activity: text))}"#
            _ = try await gateway.send("POST", "/api/schedules", later)
            let tags = #"{"audience":{"ios_channel":"c-1"},"add":{"device":[\#(JSON.string(evil).text)]}}"#
            _ = try await gateway.send("POST", "/api/channels/tags", tags)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let csrf = try await browser.formToken()
            let pages = [
                "/console/schedules", "/console/actions", "/console/actions?credential=\(encoded)",
                "/console", "/console/names", "/console/names/\(encoded)", "/console/pushes/\(id)", "/console/pushes",
                "/console/devices", "/console/devices/c-1?name=\(encoded)", "/console/compose?push=\(id)",
                "/console/compose?name=\(encoded)", "/console/names?contains=\(encoded)", "/console/pushes/\(encoded)",
                "/console/names/nobody-\(encoded)", "/console?notice=\(encoded)", "/console/sign-in?next=\(encoded)",
                "/console/devices?user=\(encoded)",
            ]
            var texts: [String] = []
            for page in pages { texts.append(try await browser.get(page).text) }
            for action in ["preview", "publish", "edit", "keep"] {
                let page = try await browser.submit(
                    "/console/compose",
                    [
                        "csrf": csrf, "action": action, "name": evil, "event": "update", "state": state,
                        "alert_title": evil, "alert_body": evil, "template_title": evil,
                    ])
                texts.append(page.text)
            }
            texts.append(try await browser.get("/console/templates").text)
            let wrong = try await browser.submit(
                "/console/compose", ["csrf": csrf, "action": "preview", "name": "n", "event": evil, "state": evil])
            texts.append(wrong.text)
            // The texts stand outside of the macro, which cannot hold all of these characters.
            let forbidden = [
                "<script>alert", "<img src=x", "\"\u{301} onfocus", "</textarea><script", "\" onfocus", "' onfocus",
            ]
            for text in texts {
                let found = forbidden.filter(text.contains)
                #expect(found.isEmpty, "\(text)")
            }
        }
    }

    @Test func `switched off it is not there, and nothing of it runs`() async throws {
        try await GatewayFixture.run(configure: { $0.hasConsole = false }) { gateway in
            var browser = ConsoleBrowser(gateway)
            for path in ["/console", "/console/sign-in", "/console/assets/console.css", "/console/live"] {
                let reply = try await browser.get(path)
                #expect(reply.status == 404 && reply.text.contains("This path does not exist"))
            }
            #expect(try await browser.signIn().status == 404)
        }
    }

    @Test func `a form over the limit is refused, and one of a stranger is not read`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            let large = String(repeating: "x", count: Console.mostFormBytes + 1)
            let form = String(repeating: "x", count: Console.mostSignInBytes)
            #expect(try await browser.post("/console/sign-in", ["app_key": form]).status == 413)
            #expect(try await browser.post("/console/compose", ["state": large]).status == 401)
            _ = try await browser.signIn()
            #expect(try await browser.post("/console/compose", ["state": large]).status == 413)
        }
    }

    @Test(arguments: [
        "/console/..//evil.example", "/console/../api/push", "/console//evil.example", "/console/%2e%2E/api",
        "/console/./x", "//evil.example", "/console/sign-out", "/consoles", "https://evil.example",
    ])
    func `a link leads to a page of the console and nowhere else`(next: String) {
        #expect(Console.next(next) == "/console")
        #expect(Console.next("/console/names/a..b?contains=..//x") == "/console/names/a..b?contains=..//x")
    }
}
