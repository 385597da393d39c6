import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI

/// One browser that is signed in to several apps.
@Suite struct ConsoleAppsTests {
    private static let other = ("other-app", "other-m")

    @Test func `a second app stands beside the first, and the first one's forms go on`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let token = try await browser.formToken()
            #expect(try await browser.get("/console/sign-in").status == 303, "it is signed in")
            #expect(try await browser.get("/console/sign-in?another=yes").status == 200)
            let second = try await browser.signIn(Self.other.0, Self.other.1)
            #expect(second.header("location") == "/console/@other-app")
            // The tab of the first app has its addresses, its live part and its token.
            let first = try await browser.get("/console").text
            #expect(first.contains(">\(GatewayFixture.key)<"))
            #expect(first.contains(#"href="/console/@other-app">other-app"#))
            let done = try await browser.post("/console/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(done.status == 303)
            let paused = try await gateway.send("GET", "/api/pauses").text
            #expect(paused.contains(GatewayFixture.key), "\(paused)")
            let other = try await gateway.send("GET", "/api/pauses", user: "other-app:other-m").text
            #expect(other == #"{"ok":true,"paused":[]}"#)
        }
    }

    @Test func `every address of a page of the second app is of the second app`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            try await gateway.follow("match-1")
            _ = try await browser.signIn(Self.other.0, Self.other.1)
            for path in ["", "/names", "/compose", "/credentials", "/pushes?state=done"] {
                let page = try await browser.get("/console/@other-app\(path)")
                #expect(page.status == 200 && page.text.contains(">other-app<"), "\(path): \(page.text.prefix(300))")
                #expect(!page.text.contains("match-1"))
                let addresses = page.text.matches(of: #/="(/console[^"]*)"/#).map { String($0.1) }
                let strays = addresses.filter { address in
                    !["/console/@", "/console/assets/", "/console/sign-in"].contains { address.hasPrefix($0) }
                }
                #expect(strays.isEmpty && addresses.count > 10, "\(path): \(strays)")
            }
            let page = try await browser.get("/console/@other-app").text
            let start = try #require(page.firstRange(of: #"name="csrf" value=""#)).upperBound
            let token = String(page[start...].prefix(64))
            let paused = try await browser.post(
                "/console/@other-app/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(paused.header("location") == "/console/@other-app?notice=paused")
            // The token of one app opens nothing of the other.
            let foreign = try await browser.post("/console/pause", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(foreign.status == 403)
            let events = try await browser.get("/console/@other-app/pushes/none/live")
            #expect(events.status == 400, "none is no id")
        }
    }

    @Test func `a page of an app that the browser is not signed in to asks for it`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let asked = try await browser.get("/console/@other-app/names")
            let place = try #require(asked.header("location"))
            #expect(asked.status == 303 && place == "/console/sign-in?next=%2Fconsole%2F%40other-app%2Fnames")
            let form = try await browser.get(place)
            #expect(form.status == 200 && form.text.contains(#"value="other-app""#), "\(form.text)")
            #expect(try await browser.get("/console/@nobody/names").status == 303)
            // The own app may be named too.
            let own = try await browser.get("/console/@\(GatewayFixture.key)/names")
            #expect(own.status == 200 && own.text.contains(#"href="/console/pushes""#))
        }
    }

    @Test func `a new sign-in to one app leaves the other, and signing out ends all`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            _ = try await browser.signIn(Self.other.0, Self.other.1)
            let before = browser
            _ = try await browser.signIn()
            #expect(try await browser.get("/console/@other-app").status == 200)
            #expect(try await browser.get("/console").text.contains("Sign out of all apps"))
            // The session that the new one replaced is over.
            #expect(try await before.get("/console").status == 303)
            #expect(try await before.get("/console/@other-app").status == 200)
            let out = try await browser.post("/console/sign-out", ["csrf": try await browser.formToken()])
            #expect(out.header("set-cookie")?.contains("lamplighter_console=; Max-Age=0") == true)
            for path in ["/console", "/console/@other-app"] {
                #expect(try await browser.get(path).status == 303, "\(path)")
            }
        }
    }
}
