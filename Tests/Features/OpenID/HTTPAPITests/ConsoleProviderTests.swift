import Answers
import Curl
import Foundation
import LiveActivity
import Redis
import StrictJSON
import Synchronization
import TestSupport
import Testing
import Threads

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Signing in to the console through a provider, as a browser does.
@Suite struct ConsoleProviderTests {
    private static let path = "/console/sign-in/provider"
    private static var app: String { GatewayFixture.key }

    /// A gateway with a provider.
    func run(
        _ access: String = "editors = \(app) read,publish,operate", _ change: (inout OpenIDOptions) -> Void = { _ in },
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (GatewayFixture, TestProvider) async throws -> Void
    ) async throws {
        let provider = try await TestProvider()
        var options = try provider.options(access)
        change(&options)
        let given = options
        try await GatewayFixture.run(configure: {
            $0.openID = given
            configure(&$0)
        }) { gateway in try await body(gateway, provider) }
    }

    /// Follows the button, up to the provider's page.
    private func begin(
        _ gateway: GatewayFixture, _ query: String = ""
    ) async throws -> (page: String, cookie: (String, String)) {
        let reply = try await ConsoleBrowser(gateway).get(Self.path + query)
        try #require(reply.status == 303, "\(reply.text)")
        let cookie = try #require(reply.header("set-cookie"))
        let pair = try #require(cookie.split(separator: ";").first)
        return (try #require(reply.header("location")), ("Cookie", String(pair)))
    }

    /// Comes back from the provider, as a browser does. The page loads itself again, with the cookies that the browser
    /// has then.
    func come(
        _ gateway: GatewayFixture, _ back: String, _ cookies: [(String, String)], _ browser: ConsoleBrowser? = nil
    ) async throws -> Reply {
        let page = try await ConsoleBrowser(gateway).get(back, headers: [("Sec-Fetch-Site", "cross-site")])
        try #require(page.status == 200 && page.header("set-cookie") == nil, "\(page.text)")
        let start = try #require(page.text.range(of: "0;url=")).upperBound
        let place = page.text[start...].prefix { $0 != "\"" }.replacing("&amp;", with: "&")
        let all = cookies.map(\.1) + (browser?.cookie.map { ["lamplighter_console=\($0)"] } ?? [])
        return try await ConsoleBrowser(gateway).get(String(place), headers: [("Cookie", all.joined(separator: "; "))])
    }

    func signIn(
        _ gateway: GatewayFixture, _ provider: TestProvider, _ query: String = ""
    ) async throws -> (reply: Reply, browser: ConsoleBrowser) {
        let (page, cookie) = try await begin(gateway, query)
        let back = try await provider.agree(page)
        let reply = try await come(gateway, back, [cookie])
        let session = reply.response.headers.first { $0.0 == "set-cookie" && $0.1.hasPrefix("lamplighter_console=") }
        let id = session.map { String($0.1.drop { $0 != "=" }.dropFirst().prefix(64)) }
        return (reply, ConsoleBrowser(gateway, cookie: id))
    }

    @Test func `without a provider nothing is different`() async throws {
        try await GatewayFixture.run { gateway in
            let browser = ConsoleBrowser(gateway)
            let page = try await browser.get("/console/sign-in").text
            #expect(!page.contains("Sign in with"))
            #expect(try await browser.get(Self.path).status == 404)
            #expect(try await browser.get("/console/sign-in/return?code=x&state=y").status == 404)
        }
    }

    @Test func `no credential looks like people`() async throws {
        try await GatewayFixture.run { gateway in
            for id in ["oidc", "OIDC", "o-i_dc"] {
                let reply = try await gateway.send("POST", "/api/credentials", #"{"id":"\#(id)","scopes":["read"]}"#)
                #expect(reply.status == 400 && reply.text.contains("id: is taken"), "\(id): \(reply.text)")
            }
        }
    }

    @Test func `an alarm that a person knows of keeps the id of that person`() async throws {
        try await run("editors = \(Self.app) read,operate") { gateway, provider in
            try await gateway.store.alarms.raise(try gateway.app, .expired, "pushes expired")
            let (_, anna) = try await signIn(gateway, provider)
            let known: KeyValuePairs = ["csrf": try await anna.formToken(), "kind": "expired", "to": "known"]
            #expect(try await anna.post("/console/alarms", known).status == 303)
            let page = try await anna.get("/console/alarms").text
            let person = #"<span title="id at the provider: user-7">anna@example.com (oidc)</span>"#
            #expect(page.contains("Marked as known by \(person)"), "\(page)")
        }
    }

    @Test func `a person signs in, does what the group may, and the log names the person`() async throws {
        try await run { gateway, provider in
            let page = try await ConsoleBrowser(gateway).get("/console/sign-in?next=/console/names").text
            #expect(page.contains("Sign in with Example") && page.contains("/console/sign-in/provider?next="))
            try await gateway.follow("match-1")
            let (reply, browser) = try await signIn(gateway, provider, "?next=/console/names")
            #expect(reply.status == 303 && reply.header("location") == "/console/names", "\(reply.text)")
            let cookies = reply.response.headers.filter { $0.1.hasPrefix("lamplighter_console=") }
            let cookie = try #require(cookies.first).1
            #expect(cookie.contains("Max-Age=28800") && cookie.contains("SameSite=Strict"))
            let ended = reply.response.headers.filter { $0.1.contains(/^lamplighter_sign_in_[0-9a-f]{16}=;/) }
            #expect(ended.count == 1 && ended[0].1.contains("Max-Age=0"))
            let home = try await browser.get("/console").text
            #expect(home.contains("signed in with the account anna@example.com"), "\(home)")
            #expect(home.contains("anna@example.com may read, publish, operate"))
            let token = try await browser.formToken()
            let published = try await browser.post(
                "/console/compose/publish",
                [
                    "csrf": token, "name": "match-1", "event": "update", "audience": "all", "state": "{}",
                    "priority": "10", "key": "console/1",
                ])
            let place = try #require(published.header("location"))
            let push = try await browser.get(place)
            #expect(push.text.contains("anna@example.com (oidc) from 127.0.0.1"), "\(push.text)")
            #expect(push.text.contains(#"title="id at the provider: user-7""#))
            _ = try await browser.post("/console/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            try await eventually("the log of actions has both") {
                let told = try await ActionTests.actions(gateway, "?credential=anna@example.com")
                let who = try told.map { try $0.required("who").string() }
                return who == ["anna@example.com", "anna@example.com"]
            }
            #expect(try await ActionTests.actions(gateway, "?credential=oidc").count == 2)
            let log = try await browser.get("/console/actions").text
            #expect(
                log.contains(
                    #"<td data-label="Who" title="id at the provider: user-7">anna@example.com (oidc)</td>"#), "\(log)")
            let refused = try await browser.get("/console/devices/x")
            #expect(refused.status != 403)
            #expect(gateway.log.all.contains { $0.contains("who=anna@example.com") && $0.contains("sign-in/return") })
            for secret in [TestProvider.secret, token, browser.cookie ?? "", "code-", "eyJ"] {
                #expect(!gateway.log.all.contains { $0.contains(secret) }, "\(secret)")
            }
            let out = try await browser.post("/console/sign-out", ["csrf": token])
            #expect(out.status == 303)
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `people who call themselves like somebody else are told apart`() async throws {
        try await run { gateway, provider in
            let names = ["master secret", "oidc", "anna@example.com"]
            for (number, name) in names.enumerated() {
                provider.state.withLock { state in
                    let own: JSON? = number == 2 ? true : "true"
                    state.claims = state.claims.merging([
                        "sub": .string("user-\(number)"), "email": "anna@example.com", "email_verified": own,
                        "preferred_username": .string(name),
                    ]) { $1 }
                }
                let (_, browser) = try await signIn(gateway, provider)
                let token = try await browser.formToken()
                _ = try await browser.post(
                    "/console/pause", ["csrf": token, "to": number == 1 ? "resume" : "pause", "confirmed": "yes"])
            }
            let (master, _) = try await ConsoleBrowser.start(gateway)
            let page = try await master.get("/console/actions").text
            for (number, name) in names.enumerated() {
                #expect(page.contains("title=\"id at the provider: user-\(number)\">\(name) (oidc)</td>"), "\(page)")
            }
            #expect(!page.contains(">master secret</td>"))
            let own = try await ActionTests.actions(gateway, "?credential=user-0")
            #expect(try own.map { try $0.required("who").string() } == ["master secret"])
        }
    }

    @Test func `the browser's sessions of other apps stay`() async throws {
        try await run { gateway, provider in
            var browser = ConsoleBrowser(gateway)
            let (page, cookie) = try await begin(gateway)
            // The browser signs in to the other app meanwhile.
            _ = try await browser.signIn("other-app", "other-m")
            let reply = try await come(gateway, try await provider.agree(page), [cookie], browser)
            #expect(reply.header("location") == "/console/@\(Self.app)", "\(reply.text)")
            let set = try #require(reply.response.headers.first { $0.1.hasPrefix("lamplighter_console=") }).1
            let ids = set.dropFirst("lamplighter_console=".count).prefix { $0 != ";" }
            #expect(ids.hasPrefix("\(browser.cookie ?? "").") && ids.count == 129)
            let both = ConsoleBrowser(gateway, cookie: String(ids))
            #expect(try await both.get("/console").text.contains(">other-app<"))
            #expect(try await both.get("/console/@\(Self.app)").text.contains("account anna@example.com"))
        }
    }

    @Test func `a credential that a person makes ends with the session`() async throws {
        try await run { gateway, provider in
            let (_, browser) = try await signIn(gateway, provider)
            let id = try #require(browser.cookie)
            let record = try #require(try await gateway.store.console.session(id, life: ConsoleSession.life))
            let session = try #require(ConsoleSession(id: id, record))
            #expect(!String(decoding: record, as: UTF8.self).contains(id))
            let bridge = ConsoleBridge(
                live: gateway.gateway.live, recorder: ActionRecorder(gateway.store.actions, logger: .quiet))
            let identity = try #require(try await bridge.gateway.standing(session.identity, testNow))
            func create(_ body: String) async -> Int {
                await bridge.gateway.call(
                    identity,
                    ConsoleCall(
                        method: "POST", path: "/api/credentials", query: "", body: Array(body.utf8), address: "x",
                        now: testNow)
                ).status
            }
            #expect(await create(#"{"id":"mine","scopes":["read"]}"#) == 403)
            #expect(await create(#"{"id":"mine","scopes":["read"],"expires_in":86400}"#) == 403)
            #expect(await create(#"{"id":"mine","scopes":["read"],"expires_in":3600}"#) == 201)
        }
    }

    @Test func `a sign-in ends once, in the browser in which it began, and with its own state`() async throws {
        try await run { gateway, provider in
            let (page, cookie) = try await begin(gateway)
            let (otherPage, otherCookie) = try await begin(gateway)
            let back = try await provider.agree(page)
            let other = try await provider.agree(otherPage)
            // An attacker's link that would sign the reader in as the attacker, or a mixed-up state.
            for (path, cookies) in [(back, []), (back, [otherCookie]), (other, [cookie]), (back + "0", [cookie])] {
                let reply = try await come(gateway, path, cookies)
                #expect(reply.status == 401 && reply.text.contains("was not begun in this browser"), "\(reply.text)")
                #expect(reply.header("set-cookie") == nil, "what does not fit ends nothing")
            }
            #expect(provider.count("/token") == 0, "no code was sent")
            #expect(try await come(gateway, back, [cookie]).status == 303)
            // The same answer once more: the state is used up, and so is the code.
            #expect(try await come(gateway, back, [cookie]).status == 401)
            #expect(provider.count("/token") == 1)
        }
    }

    @Test func `tabs of one browser sign in beside each other, and an old answer leads to the page`() async throws {
        try await run { gateway, provider in
            let (page, cookie) = try await begin(gateway)
            let second = try await ConsoleBrowser(gateway).get(Self.path, headers: [cookie])
            let set = try #require(second.header("set-cookie")?.split(separator: ";").first)
            let secondCookie = ("Cookie", String(set))
            let tabs = [page, try #require(second.header("location"))]
            let cookies = [cookie, secondCookie]
            #expect(second.response.headers.count { $0.0 == "set-cookie" } == 1, "the first one stays")
            var browser = ConsoleBrowser(gateway)
            for (number, tab) in tabs.enumerated() {
                let back = try await provider.agree(tab)
                let reply = try await come(gateway, back, Array(cookies[number...]), browser)
                #expect(reply.status == 303 && reply.header("location") == "/console", "\(reply.text)")
                let set = try #require(reply.response.headers.first { $0.1.hasPrefix("lamplighter_console=") }).1
                browser = ConsoleBrowser(gateway, cookie: String(set.drop { $0 != "=" }.dropFirst().prefix(64)))
                #expect(try await browser.get("/console").status == 200)
                // Back, or a tab that the browser opens again.
                let again = try await come(gateway, back, Array(cookies[number...]), browser)
                #expect(again.status == 303 && again.header("location") == "/console", "\(again.text)")
            }
            #expect(provider.count("/token") == 2)
        }
    }

    @Test func `a browser keeps eight begun sign-ins, and each is small`() async throws {
        try await run { gateway, provider in
            var cookies: [String] = []
            for _ in 0..<10 {
                let header = cookies.isEmpty ? [] : [("Cookie", cookies.joined(separator: "; "))]
                let reply = try await ConsoleBrowser(gateway).get(Self.path, headers: header)
                for (name, set) in reply.response.headers where name == "set-cookie" {
                    let pair = String(try #require(set.split(separator: ";").first))
                    let cookieName = pair.prefix { $0 != "=" }
                    cookies.removeAll { $0.hasPrefix(cookieName) }
                    if !set.contains("Max-Age=0") { cookies.append(pair) }
                }
            }
            #expect(cookies.count == 8)
            let long = "/console/pushes?name=" + String(repeating: "x", count: 4_000)
            let app = String(repeating: "y", count: 4_000)
            _ = try await begin(gateway, "?app=\(app)&next=\(long.urlComponent)")
            let redis = gateway.store.redis
            for key in try await redis.send(RedisCommand("KEYS", ["*console:o:*"])).array() {
                let size = try await redis.send(RedisCommand("STRLEN", RedisKey(try key.string()), [])).integer()
                #expect(size < 1_500)
            }
            let host = try await ConsoleBrowser(gateway).get(
                Self.path, headers: [("Host", String(repeating: "h", count: 300))])
            #expect(host.status == 400 && host.text.contains("Host"), "\(host.text)")
        }
    }

    @Test func `a sign-in that takes too long, or of another provider, is refused`() async throws {
        try await run { gateway, provider in
            let (page, cookie) = try await begin(gateway)
            let back = try await provider.agree(page)
            let reply = try await come(gateway, back + "&iss=https://evil.example", [cookie])
            #expect(reply.status == 401 && reply.text.contains("another provider"))
            let (late, lateCookie) = try await begin(gateway)
            let keys = try await gateway.store.redis.send(RedisCommand("KEYS", ["*console:o:*"])).array()
            #expect(keys.count == 1, "the used one is gone")
            let key = RedisKey(try keys[0].string())
            let left = try await gateway.store.redis.send(RedisCommand("PTTL", key, [])).integer()
            #expect((1...600_000).contains(left))
            _ = try await gateway.store.redis.send(RedisCommand("DEL", key, []))
            let answer = try await provider.agree(late)
            #expect(try await come(gateway, answer, [lateCookie]).status == 401)
        }
    }

    @Test func `the provider's no is a page, and shows no text of the address`() async throws {
        try await run { gateway, _ in
            for (error, words) in [("access_denied", "access_denied"), ("call+0900", "another error")] {
                let (page, cookie) = try await begin(gateway)
                let state = try #require(page.range(of: "&state=")).upperBound
                let back = "/console/sign-in/return?error=\(error)&state=\(page[state...].prefix(64))"
                let reply = try await come(gateway, back, [cookie])
                #expect(reply.status == 403 && reply.text.contains("did not let you sign in: \(words)"))
                #expect(!reply.text.contains("0900"))
            }
        }
    }

    @Test func `a person without a group that opens something is told so, with the groups`() async throws {
        try await run { gateway, provider in
            provider.state.withLock { $0.claims["groups"] = .array(["<b>interns</b>", "guests"]) }
            let (reply, browser) = try await signIn(gateway, provider)
            #expect(reply.status == 403 && browser.cookie == nil)
            #expect(reply.text.contains("Nobody gave anna@example.com access to this console."), "\(reply.text)")
            #expect(reply.text.contains("“&lt;b&gt;interns&lt;/b&gt;”, “guests”"))
            provider.state.withLock { $0.claims["groups"] = .some(nil) }
            #expect(try await signIn(gateway, provider).reply.text.contains("The provider named no group of yours."))
            provider.state.withLock { $0.claims["groups"] = .array((0..<50).map { .string("g\($0)") }) }
            #expect(try await signIn(gateway, provider).reply.text.contains("and 30 more"))
            #expect(gateway.log.all.contains { $0.contains("no group has rights") })
        }
    }

    @Test func `a person of several apps chooses one, and the first line for it counts`() async throws {
        let access = "editors = \(Self.app) read match-; editors = other-app read; ops = \(Self.app) read,publish"
        try await run(access) { gateway, provider in
            provider.state.withLock { $0.claims["groups"] = .array(["ops", "editors"]) }
            let (reply, none) = try await signIn(gateway, provider)
            #expect(reply.text.contains("several apps") && none.cookie == nil, "\(reply.text)")
            #expect(reply.text.contains("/console/sign-in/provider?app=other-app&amp;next="))
            let (_, browser) = try await signIn(gateway, provider, "?app=\(Self.app)")
            #expect(try await browser.get("/console").text.contains("may read names that begin with “match-”"))
            let (_, other) = try await signIn(gateway, provider, "?app=other-app")
            #expect(try await other.get("/console").text.contains("other-app"))
            provider.state.withLock { $0.claims["groups"] = .array(["ops"]) }
            let refused = try await signIn(gateway, provider, "?app=other-app").reply
            #expect(refused.status == 403 && refused.text.contains("access to the app other-app"))
        }
    }

    @Test func `a session ends with its time, its group's line, its provider, and its app`() async throws {
        try await run(
            "editors = \(Self.app) read,publish", { $0.sessionLife = .seconds(3_600) }
        ) { gateway, provider in
            let (_, browser) = try await signIn(gateway, provider)
            let id = try #require(browser.cookie)
            let record = try #require(try await gateway.store.console.session(id, life: .seconds(3_600)))
            let kept = try #require(ConsoleSession(id: id, record)).identity
            let bridge = ConsoleBridge(
                live: gateway.gateway.live, recorder: ActionRecorder(gateway.store.actions, logger: .quiet))
            func stands(_ seconds: Int64 = 0) async throws -> ConsoleIdentity? {
                try await bridge.gateway.standing(kept, testNow + seconds * 1_000)
            }
            #expect(try await stands(3_599)?.scopes == [.read, .publish])
            #expect(try await stands(3_600) == nil)
            func reload(_ change: (inout OpenIDOptions) -> Void) {
                var configuration = gateway.gateway.live.current.configuration
                change(&configuration.openID)
                gateway.gateway.reload(configuration, store: gateway.store)
            }
            reload { $0.access[0].scopes = [.read] }
            #expect(try await stands()?.scopes == [.read], "less at once")
            #expect(try await browser.get("/console/compose").status == 403)
            reload { $0.access[0].group = "others" }
            #expect(try await browser.get("/console").status == 303)
            reload { $0.access[0].group = "editors" }
            #expect(try await browser.get("/console").status == 200)
            reload { $0.clientID = "another" }
            #expect(try await browser.get("/console").status == 303)
            reload { $0.issuer = nil }
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `groups without read open nothing`() async throws {
        try await run("editors = \(Self.app) publish") { gateway, provider in
            let (reply, browser) = try await signIn(gateway, provider)
            #expect(reply.status == 403 && reply.text.contains("lacks the scope read") && browser.cookie == nil)
        }
    }

    @Test func `a page of another site begins no sign-in, and nobody is led elsewhere`() async throws {
        try await run { gateway, provider in
            let foreign = try await ConsoleBrowser(gateway).get(Self.path, headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(foreign.status == 303 && foreign.header("location") == "/console/sign-in")
            #expect(foreign.header("set-cookie") == nil)
            for next in ["https://evil.example", "//evil.example", "/console/../x", "/console/sign-out"] {
                let query = "?next=" + next.urlComponent
                let reply = try await signIn(gateway, provider, query).reply
                #expect(reply.header("location") == "/console", "\(next)")
            }
            let secure = try await ConsoleBrowser(gateway).get(Self.path, headers: [("X-Forwarded-Proto", "https")])
            let cookie = try #require(secure.header("set-cookie"))
            #expect(cookie.hasPrefix("__Host-lamplighter_sign_in_") && cookie.hasSuffix("; Path=/; Secure"))
            #expect(cookie.contains("SameSite=Strict") && cookie.contains("HttpOnly") && cookie.contains("Max-Age=600"))
            #expect(secure.header("location")?.contains("redirect_uri=https%3A%2F%2F127.0.0.1") == true)
        }
    }

    @Test func `one network begins a bounded number of sign-ins`() async throws {
        try await run { gateway, provider in
            for _ in 0..<3 { #expect(try await signIn(gateway, provider).reply.status == 303) }
            for _ in 0..<Console.mostBegun { _ = try await begin(gateway) }
            let reply = try await ConsoleBrowser(gateway).get(Self.path)
            #expect(reply.status == 429 && reply.header("retry-after") != nil)
            var browser = ConsoleBrowser(gateway)
            #expect(try await browser.signIn().status == 303, "a secret still opens it")
        }
    }
}
