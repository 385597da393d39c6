import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The console of people who propose and approve: the question, the list, the strip, and the decision.
@Suite struct ConsoleApprovalTests {
    static let draft = "0123456789abcdef01234567"

    func browser(_ gateway: GatewayFixture, _ id: String, _ more: String) async throws -> ConsoleBrowser {
        let secret = try await CredentialTests.create(gateway, #"{"id":"\#(id)",\#(more)}"#)
        var browser = ConsoleBrowser(gateway)
        let reply = try await browser.signIn(GatewayFixture.key, secret)
        try #require(reply.status == 303, "\(reply.text)")
        return browser
    }

    private func hidden(_ name: String, in page: Reply) throws -> String {
        let parts = page.text.split(separator: "name=\"\(name)\" value=\"")
        return String(try #require(parts.count > 1 ? parts.last : nil, "\(page.text)").prefix { $0 != "\"" })
    }

    private let fields: KeyValuePairs<String, String> = [
        "name": "match-1", "event": "end", "audience": "all", "state": #"{"home":7}"#, "priority": "10",
    ]

    func form(_ more: KeyValuePairs<String, String>) -> [(String, String)] {
        fields.map { ($0.key, $0.value) } + more.map { ($0.key, $0.value) }
    }

    @Test func `the composer asks for approval, and a second person reads the same words and approves`() async throws {
        try await GatewayFixture.run(configure: {
            $0.consoleUndo = .seconds(10)
            // The strip counts by Redis's clock, which is ahead of the test's.
            $0.approvalLife = .seconds(3_650 * 86_400)
        }) { gateway in
            try await gateway.follow("match-1")
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let (token, place) = (try await ann.formToken(), "draft=\(Self.draft)")
            _ = try await ann.post("/console/compose?\(place)", form(["csrf": token, "action": "publish"]))
            let question = try await ann.get("/console/compose/publish?\(place)")
            #expect(
                question.text.contains("End 1 card?") && question.text.contains("Ask for approval"), "\(question.text)")
            #expect(!question.text.contains("take it back"))
            let asked = try await ann.post(
                "/console/compose/publish?\(place)",
                form([
                    "csrf": token, "key": try hidden("key", in: question), "at": try hidden("at", in: question),
                    "asks": try hidden("asks", in: question),
                ]))
            let push = try #require(asked.header("location"))
            #expect(push.hasSuffix("?notice=proposed"), "\(asked.text)")
            let page = try await ann.get(push).text
            #expect(page.contains("awaiting approval") && page.contains("Cancel the schedule"), "\(page)")
            #expect(!page.contains("Take it back"))
            #expect(try await !ann.get("/console").text.contains("for a second person"), "Ann cannot approve")

            let home = try await bob.get("/console").text
            #expect(home.contains("1 publish waits for a second person"), "\(home)")
            let list = try await bob.get("/console/schedules?state=awaiting_approval").text
            #expect(list.contains("asked by ann") && list.contains("<span class=\"badge\">1</span>"), "\(list)")
            let id = try #require(push.split(separator: "/").last?.prefix(36))
            let path = "/console/schedules/\(id)/approval"
            #expect(list.contains(path))
            let decision = try await bob.get(path)
            for words in [
                "End 1 card?", "1 card will end, which cannot be taken back", "the credential ann from 127.0.0.1",
                "This end closes the name", "Approve and send",
            ] {
                #expect(decision.text.contains(words), "\(words): \(decision.text)")
            }
            let refused = try await ann.get(path).text
            #expect(refused.contains("needs the scope approve") && !refused.contains("Approve and send"), "\(refused)")
            let approved = try await bob.post(
                path,
                ["csrf": try await bob.formToken(), "request": try hidden("request", in: decision), "to": "approve"])
            #expect(approved.header("location") == "/console/pushes/\(id)?notice=approved", "\(approved.text)")
            #expect(try await bob.get(path).header("location") == "/console/pushes/\(id)", "it is decided")
            #expect(try await !bob.get("/console").text.contains("for a second person"))
            let log = try await gateway.send("GET", "/api/actions?action=approve").text
            #expect(log.contains(#""credential":"bob""#) && log.contains(#""asked_by":"ann""#), "\(log)")
        }
    }

    @Test func `the person who asked reads why it was rejected`() async throws {
        try await GatewayFixture.run(configure: { $0.approvalLife = .seconds(3_650 * 86_400) }) { gateway in
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let asked = try await ann.post(
                "/console/compose/publish",
                form(["csrf": try await ann.formToken(), "key": "console/1", "asks": "yes"]))
            let id = String(try #require(asked.header("location")?.split(separator: "/").last?.prefix(36)))
            let list = try await bob.get("/console/schedules?state=awaiting_approval").text
            #expect(list.contains(">once approved</a>"), "it has no time: \(list)")
            let path = "/console/schedules/\(id)/approval"
            let page = try await bob.get(path)
            #expect(page.text.contains("Reason, if you reject"), "\(page.text)")
            let rejected = try await bob.post(
                path,
                [
                    "csrf": try await bob.formToken(), "request": try hidden("request", in: page), "to": "reject",
                    "reason": " It is <3:1> ",
                ])
            #expect(rejected.header("location") == "/console/pushes/\(id)?notice=rejected", "\(rejected.text)")
            let told = try await ann.get("/console/pushes/\(id)").text
            for words in [
                "bob</span> rejected it", "“It is &lt;3:1&gt;”", "Nothing of it was sent", "What was asked for",
            ] {
                #expect(told.contains(words), "\(words): \(told)")
            }
            #expect(!told.contains("Devices that it did not reach") && told.contains("lock-main"), "\(told)")
            #expect(try await ann.get("/console/schedules?state=finished").text.contains("It is &lt;3:1&gt;"))
            var master = ConsoleBrowser(gateway)
            _ = try await master.signIn()
            #expect(try await master.get("/console/actions?action=reject").text.contains("“It is &lt;3:1&gt;”"))
        }
    }

    @Test func `a credential for some names learns of the requests of these alone`() async throws {
        try await GatewayFixture.run(configure: { $0.approvalLife = .seconds(3_650 * 86_400) }) { gateway in
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let desk = try await browser(gateway, "desk", #""scopes":["read","approve"],"name_prefix":"match-""#)
            let shop = try await browser(gateway, "shop", #""scopes":["read","approve"],"name_prefix":"order-""#)
            let token = try await ann.formToken()
            for key in ["console/1", "console/2"] {
                _ = try await ann.post("/console/compose/publish", form(["csrf": token, "key": key, "asks": "yes"]))
            }
            for path in ["/console", "/console/names"] {
                let page = try await desk.get(path).text
                #expect(page.contains("2 publishes wait for a second person"), "\(path): \(page)")
                #expect(page.contains("Schedules <span class=\"badge\">2</span>"), "\(path): \(page)")
                let other = try await shop.get(path).text
                #expect(!other.contains("for a second person") && !other.contains("badge"), "\(path): \(other)")
            }
        }
    }

    @Test func `a change asks anew, and what the rule does not name is published as ever`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].approvalRule = .ends }) { gateway in
            try await gateway.follow("match-1")
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose","approve"]"#)
            let token = try await ann.formToken()
            let asked = try await ann.post(
                "/console/compose/publish", form(["csrf": token, "key": "console/1", "asks": "yes"]))
            let id = String(try #require(asked.header("location")?.split(separator: "/").last?.prefix(36)))
            let form = try await ann.get("/console/compose?schedule=\(id)").text
            #expect(form.contains("{&quot;home&quot;:7}") || form.contains("&quot;home&quot;: 7"), "\(form)")
            let before = try await gateway.send("GET", "/api/schedules/\(id)").text
            let changed = try await ann.post(
                "/console/compose/publish", self.form(["csrf": token, "schedule": id, "asks": "yes"]))
            #expect(changed.header("location") == "/console/pushes/\(id)?notice=proposed", "\(changed.text)")
            let after = try await gateway.send("GET", "/api/schedules/\(id)")
            #expect(try after.string("state") == "awaiting_approval" && after.text != before)
            let own = try await ann.post(
                "/console/schedules/\(id)/approval",
                [
                    "csrf": token, "to": "reject",
                    "request": try after.object.required("approval").object().required("request").string(),
                ])
            #expect(own.status == 403 && own.text.contains("your own request"), "\(own.text)")
            let update = try await ann.post(
                "/console/compose/publish",
                [
                    "csrf": token, "name": "match-1", "event": "update", "audience": "all", "state": "{}",
                    "priority": "10", "key": "console/2", "asks": "",
                ])
            let push = String(try #require(update.header("location")?.split(separator: "/").last))
            #expect(try await gateway.send("GET", "/api/push/\(push)").string("state") == "queued")
        }
    }
}
