import Answers
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The pages about the app itself: credentials, schemas, settings.
@Suite struct ConsoleAccessTests {
    private func signedIn(_ gateway: GatewayFixture) async throws -> (browser: ConsoleBrowser, csrf: String) {
        var browser = ConsoleBrowser(gateway)
        _ = try await browser.signIn()
        return (browser, try await browser.formToken())
    }

    /// The secret on the page that shows it once.
    private func secret(_ page: String, of id: String) throws -> String {
        let start = try #require(page.firstRange(of: ">\(id)."), "\(page)").lowerBound
        return String(page[start...].dropFirst().prefix { $0 != "<" })
    }

    @Test func `a credential is made, used, given a new secret, and revoked`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, csrf) = try await signedIn(gateway)
            let made = try await browser.post(
                "/console/credentials",
                [
                    "csrf": csrf, "id": "newsroom", "name_prefix": "match-", "expires_in": "604800",
                    "scope_read": "yes", "scope_publish": "yes",
                ])
            // The answer to the form shows it, so no address has it.
            #expect(made.status == 200 && made.header("location") == nil)
            #expect(made.header("cache-control") == "no-store")
            let first = try secret(made.text, of: "newsroom")
            #expect(made.text.contains("shown again") && made.text.contains("that begin with match-"))
            let list = try await browser.get("/console/credentials").text
            let shown = ["newsroom", "match-…", "by master secret"].filter(list.contains)
            #expect(shown.count == 3, "\(list)")
            #expect(!list.contains(first) && list.contains("not known"))
            var person = ConsoleBrowser(gateway)
            #expect(try await person.signIn(GatewayFixture.key, first).status == 303)
            try await eventually("the list tells the last use") {
                try await !browser.get("/console/credentials").text.contains("not known")
            }
            let question = try await browser.post("/console/credentials/newsroom/rotate", ["csrf": csrf])
            #expect(question.text.contains("Give newsroom a new secret?"), "\(question.text)")
            let rotated = try await browser.post(
                "/console/credentials/newsroom/rotate", ["csrf": csrf, "confirmed": "yes", "keep": "0"])
            let second = try secret(rotated.text, of: "newsroom")
            #expect(first != second)
            #expect(try await person.get("/console").status == 303, "the old secret is valid no longer")
            #expect(try await person.signIn(GatewayFixture.key, second).status == 303)
            let asked = try await browser.post("/console/credentials/newsroom/revoke", ["csrf": csrf])
            #expect(asked.text.contains("Every program that uses it stops at once"), "\(asked.text)")
            #expect(try await person.get("/console").status == 200)
            let revoked = try await browser.post(
                "/console/credentials/newsroom/revoke", ["csrf": csrf, "confirmed": "yes"])
            #expect(revoked.header("location") == "/console/credentials?notice=revoked")
            #expect(try await person.get("/console").status == 303)
            let left = try await browser.get("/console/credentials").text
            #expect(left.contains("Everybody works with the master secret"))
            let log = gateway.log.all.joined(separator: "\n")
            #expect(!log.contains(first) && !log.contains(second))
        }
    }

    @Test func `a mistake keeps what was typed and names the field`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, csrf) = try await signedIn(gateway)
            func make(_ fields: [(String, String)]) async throws -> Reply {
                try await browser.post("/console/credentials", [("csrf", csrf)] + fields)
            }
            let nothing = try await make([("id", "feed"), ("name_prefix", "match-")])
            #expect(nothing.status == 422 && nothing.text.contains("May: "), "\(nothing.text)")
            #expect(nothing.text.contains(#"value="match-""#) && nothing.text.contains(#"value="feed""#))
            let wrong = try await make([("id", "two words"), ("scope_read", "yes")])
            #expect(wrong.status == 422 && wrong.text.contains("Id: must be 1 to 64"), "\(wrong.text)")
            _ = try await make([("id", "feed"), ("scope_read", "yes")])
            let again = try await make([("id", "feed"), ("scope_read", "yes")])
            #expect(again.status == 409 && again.text.contains("There is a credential of that id"), "\(again.text)")
        }
    }

    @Test func `somebody with operate makes none with wider rights, and without it opens no such page`() async throws {
        try await GatewayFixture.run { gateway in
            let operate = try await CredentialTests.create(gateway, #"{"id":"ops","scopes":["read","operate"]}"#)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn(GatewayFixture.key, operate)
            let csrf = try await browser.formToken()
            #expect(try await !browser.get("/console/credentials").text.contains("scope_publish"))
            let wide = try await browser.post(
                "/console/credentials", ["csrf": csrf, "id": "x", "scope_publish": "yes"])
            #expect(wide.status == 403 && wide.text.contains("lacks rights"), "\(wide.text)")
            let made = try await browser.post(
                "/console/credentials", ["csrf": csrf, "id": "narrow", "scope_read": "yes"])
            let list = try await browser.get("/console/credentials").text
            #expect(made.status == 200 && list.contains("by ops"), "\(list)")
            let read = try await CredentialTests.create(gateway, #"{"id":"look","scopes":["read"]}"#)
            var reader = ConsoleBrowser(gateway)
            _ = try await reader.signIn(GatewayFixture.key, read)
            for path in ["/console/credentials", "/console/settings"] {
                #expect(try await reader.get(path).status == 403)
            }
            let schemas = try await reader.get("/console/schemas").text
            #expect(!schemas.contains("New schema") && schemas.contains("needs the scope operate"))
        }
    }

    @Test func `a schema is put, shown by its members, refused with its place, and deleted`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, csrf) = try await signedIn(gateway)
            let good = #"{"names":["match-*"],"content_state":{"type":"object","required":["home"],"properties":"#
            let members = #"{"home":{"type":"integer","minimum":0,"title":"Goals"},"pos":{"type":"object","#
            let inner = #""properties":{"lap":{"enum":["a","b"]}}}}}}"#
            let path = "/console/schemas/MatchAttributes"
            let set = try await browser.post(
                "/console/schemas",
                ["csrf": csrf, "attributes_type": "MatchAttributes", "document": good + members + inner])
            #expect(set.header("location") == "\(path)?notice=schema-set", "\(set.text)")
            let page = try await browser.get(path).text
            for text in ["match-*", "<code>home</code>", "Goals", "required", "minimum 0", "<code>pos.lap</code>"] {
                #expect(page.contains(text), "\(text): \(page)")
            }
            #expect(try await browser.get("/console/schemas").text.contains("MatchAttributes"))
            let typo = "{\n  \"content_state\": {\"type\": \"integr\"}\n}"
            let wrong = try await browser.post(path, ["csrf": csrf, "document": typo])
            #expect(wrong.status == 422 && wrong.text.contains("Line 2, column"), "\(wrong.text)")
            #expect(wrong.text.contains("content_state.type") && wrong.text.contains("integr"))
            #expect(try await gateway.send("GET", "/api/schemas/MatchAttributes").text == good + members + inner)
            let asked = try await browser.post("\(path)/delete", ["csrf": csrf])
            #expect(asked.text.contains("Delete the schema of MatchAttributes?"))
            _ = try await browser.post("\(path)/delete", ["csrf": csrf, "confirmed": "yes"])
            #expect(try await browser.get(path).status == 404)
        }
    }

    @Test func `a device of which nothing is kept has an answer about a name, and no page without one`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let asked = try await browser.get("/console/devices/nobody?name=match-42")
            #expect(asked.status == 200 && asked.text.contains("It would not get the next update"), "\(asked.text)")
            let unasked = try await browser.get("/console/devices/nobody")
            #expect(unasked.status == 404 && unasked.text.contains("This device is not known"), "\(unasked.text)")
        }
    }

    @Test func `settings are those of the deployment and of the own app`() async throws {
        try await GatewayFixture.run(configure: {
            $0.settings = { app in
                [
                    .init(name: "redis.url", value: nil, secret: true, source: "LAMPLIGHTER_REDIS_URL", live: false),
                    .init(name: "log.level", value: "info", secret: false, source: "default", live: true),
                    .init(name: "\(app): defaults.receipts", value: "true", secret: false, source: "x", live: true),
                ]
            }
        }) { gateway in
            let (browser, _) = try await signedIn(gateway)
            let page = try await browser.get("/console/settings").text
            #expect(page.contains("set, secret") && page.contains("LAMPLIGHTER_REDIS_URL"), "\(page)")
            #expect(page.contains(">defaults.receipts<") && page.contains("by a reload"))
            let set = try await browser.get("/console/settings?show=set").text
            #expect(!set.contains("log.level") && set.contains("redis.url"))
        }
    }
}
