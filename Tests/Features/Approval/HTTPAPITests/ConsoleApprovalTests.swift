import Answers
import LiveActivity
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The console of people who propose and approve: the question, the list, the strip, and the decision.
@Suite struct ConsoleApprovalTests {
    private static let draft = "0123456789abcdef01234567"

    private func browser(_ gateway: GatewayFixture, _ id: String, _ more: String) async throws -> ConsoleBrowser {
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

    private func form(_ more: KeyValuePairs<String, String>) -> [(String, String)] {
        fields.map { ($0.key, $0.value) } + more.map { ($0.key, $0.value) }
    }

    /// The strip counts by Redis's clock, which is ahead of the test's.
    @Sendable private static func longLife(_ configuration: inout GatewayConfiguration) {
        configuration.approval.life = .seconds(3_650 * 86_400)
    }

    @Test func `a publisher is told of a publish that did not go out, until the publisher has read it`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            _ = try await ConsoleRoomTests().conflict(gateway, browser, token, #"{"home":2,"away":0,"minute":1}"#)
            let (told, page) = ("1 of your publishes did not go out", try await browser.get("/console/names").text)
            #expect(page.contains(told) && page.contains("Inbox <span class=\"badge\">1</span>"), "\(page)")
            let inbox = try await browser.get("/console/proposals?state=mine").text
            #expect(inbox.contains("conflict") && inbox.contains("2 : 0"), "\(inbox)")
            // The schedule failed by Redis's clock, which is ahead of this gateway's.
            let reader = Proposal.Person.identity("master", whoID: nil)
            let later = gateway.store.time.now() + 60_000
            try await gateway.store.proposals.markRead(gateway.app, askedBy: reader, now: later)
            #expect(try await !browser.get("/console/names").text.contains(told), "it was read")
        }
    }

    @Test func `the composer asks for approval, and a second person reads the same words and approves`() async throws {
        try await GatewayFixture.run(configure: {
            $0.consoleUndo = .seconds(10)
            Self.longLife(&$0)
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
            let path = try #require(asked.header("location"))
            #expect(path.hasPrefix("/console/proposals/") && path.hasSuffix("?notice=proposed"), "\(asked.text)")
            let page = try await ann.get(path).text
            #expect(page.contains("waiting") && page.contains("Withdraw"), "\(page)")
            #expect(page.contains("needs the scope approve") && !page.contains("Approve and send"), "\(page)")
            #expect(page.contains("lock-main"), "the page has the card")
            #expect(try await !ann.get("/console").text.contains("for a second person"), "Ann cannot approve")

            let home = try await bob.get("/console").text
            #expect(home.contains("1 publish waits for a second person"), "\(home)")
            let list = try await bob.get("/console/proposals").text
            #expect(list.contains("asked by ann") && list.contains("<span class=\"badge\">1</span>"), "\(list)")
            #expect(list.contains(">once approved</a>"), "it has no time: \(list)")
            let id = try #require(path.split(separator: "/").last?.prefix(36))
            #expect(list.contains("/console/proposals/\(id)"))
            let decision = try await bob.get(path)
            for words in [
                "End 1 card?", "1 card will end, which cannot be taken back", "the credential ann from 127.0.0.1",
                "This end closes the name", "Approve and send",
            ] {
                #expect(decision.text.contains(words), "\(words): \(decision.text)")
            }
            let approved = try await bob.post(
                "/console/proposals/\(id)",
                ["csrf": try await bob.formToken(), "request": try hidden("request", in: decision), "to": "approve"])
            #expect(approved.header("location") == "/console/proposals/\(id)?notice=approved", "\(approved.text)")
            let over = try await bob.get("/console/proposals/\(id)").text
            #expect(over.contains("/console/pushes/\(id)") && !over.contains("Approve and send"), "\(over)")
            #expect(try await ann.get("/console/pushes/\(id)").status == 200)
            #expect(try await !bob.get("/console").text.contains("for a second person"))
            #expect(try await bob.get("/console/proposals?state=over").text.contains("decided by bob"))
        }
    }

    @Test(.enabled(if: Route.find("GET", "/console/test-devices") != nil))
    func `a test send of one who proposes waits too, and Compose says so`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let device = #"{"channel_id":"00000000-0000-4000-8000-000000000001"}"#
            #expect(try await gateway.send("PUT", "/api/test-devices/Anna", device).status == 200)
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let sent = try await ann.post(
                "/console/compose?draft=\(Self.draft)",
                form(["csrf": try await ann.formToken(), "test_device": "Anna"]))
            let page = try await ann.get(try #require(sent.header("location"))).text
            #expect(page.contains("waits for a second person") && page.contains("/console/proposals/"), "\(page)")
            #expect(!page.contains("Sent to the test device"), "\(page)")
        }
    }

    @Test func `the person who asked reads why it was rejected`() async throws {
        try await GatewayFixture.run(configure: Self.longLife) { gateway in
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let asked = try await ann.post(
                "/console/compose/publish",
                form(["csrf": try await ann.formToken(), "key": "console/1", "asks": "yes"]))
            let path = String(try #require(asked.header("location")).prefix { $0 != "?" })
            let page = try await bob.get(path)
            #expect(page.text.contains("Reason, if you reject"), "\(page.text)")
            let rejected = try await bob.post(
                path,
                [
                    "csrf": try await bob.formToken(), "request": try hidden("request", in: page), "to": "reject",
                    "reason": " It is <3:1> ",
                ])
            #expect(rejected.header("location") == "\(path)?notice=rejected", "\(rejected.text)")
            let told = try await ann.get(path).text
            for words in ["rejected by", "bob</span>", "“It is &lt;3:1&gt;”", "never sent"] {
                #expect(told.contains(words), "\(words): \(told)")
            }
            #expect(try await ann.get("/console/proposals?state=over").text.contains("It is &lt;3:1&gt;"))
            var master = ConsoleBrowser(gateway)
            _ = try await master.signIn()
            #expect(try await master.get("/console/actions?action=reject").text.contains("“It is &lt;3:1&gt;”"))
        }
    }

    @Test func `a credential for some names learns of the proposals of these alone`() async throws {
        try await GatewayFixture.run(configure: Self.longLife) { gateway in
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
                #expect(page.contains("Inbox <span class=\"badge\">2</span>"), "\(path): \(page)")
                let other = try await shop.get(path).text
                #expect(!other.contains("for a second person") && !other.contains("badge"), "\(path): \(other)")
            }
        }
    }

    @Test func `a change asks anew, and what the rule does not name is published as ever`() async throws {
        try await GatewayFixture.run(configure: {
            $0.apps[0].approvalRule = .ends
        }) { gateway in
            try await gateway.follow("match-1")
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose","approve"]"#)
            let token = try await ann.formToken()
            let asked = try await ann.post(
                "/console/compose/publish", form(["csrf": token, "key": "console/1", "asks": "yes"]))
            let path = String(try #require(asked.header("location")).prefix { $0 != "?" })
            let id = String(try #require(path.split(separator: "/").last))
            let before = try await gateway.send("GET", "/api/proposals/\(id)")
            let held = "approval/\(id)/\(try before.string("request"))"
            #expect(try await ann.get(path).text.contains("/console/compose?held=approval"))
            let form = try await ann.get("/console/compose?held=\(held)").text
            #expect(form.contains("{&quot;home&quot;:7}") || form.contains("&quot;home&quot;: 7"), "\(form)")
            #expect(form.contains("name=\"held\""), "\(form)")
            let changed = try await ann.post(
                "/console/compose/publish", self.form(["csrf": token, "held": held, "asks": "yes"]))
            #expect(changed.header("location") == "\(path)?notice=proposed", "\(changed.text)")
            let after = try await gateway.send("GET", "/api/proposals/\(id)")
            #expect(try after.string("state") == "waiting" && after.string("request") != before.string("request"))
            let own = try await ann.post(
                path, ["csrf": token, "to": "reject", "request": try after.string("request")])
            #expect(own.status == 403 && own.text.contains("your own proposal"), "\(own.text)")
            let update = try await ann.post(
                "/console/compose/publish",
                [
                    "csrf": token, "name": "match-1", "event": "update", "audience": "all", "state": "{}",
                    "priority": "10", "key": "console/2", "asks": "",
                ])
            let push = String(try #require(update.header("location")?.split(separator: "/").last))
            #expect(try await gateway.send("GET", "/api/push/\(push)").string("state") == "queued")
            let withdrawn = try await ann.post(path, ["csrf": token, "to": "withdraw"])
            #expect(withdrawn.header("location") == "\(path)?notice=withdrawn", "\(withdrawn.text)")
        }
    }

    @Test func `a person with another name is the same person, and cannot approve the own proposal`() async throws {
        try await GatewayFixture.run(configure: {
            $0.features.append(Door.feature([.read, .propose, .approve]))
        }) { gateway in
            try await gateway.follow("match-1")
            let anna = try await Door.enter(gateway, "anna@example.com", id: "user-7")
            let asked = try await anna.post(
                "/console/compose/publish",
                [
                    "csrf": try await anna.formToken(), "name": "match-1", "event": "end", "audience": "all",
                    "state": "{}", "priority": "10", "key": "console/1", "asks": "yes",
                ])
            let path = String(try #require(asked.header("location")).prefix { $0 != "?" })
            func decide(_ browser: ConsoleBrowser) async throws -> Reply {
                let page = try await browser.get(path)
                #expect(page.text.contains("anna@example.com (door) from 127.0.0.1"), "\(page.text)")
                return try await browser.post(
                    path,
                    [
                        "csrf": try await browser.formToken(), "request": try hidden("request", in: page),
                        "to": "approve",
                    ])
            }
            let own = try await decide(Door.enter(gateway, "another@example.com", id: "user-7"))
            #expect(own.status == 403 && own.text.contains("your own proposal"), "\(own.text)")
            let approved = try await decide(Door.enter(gateway, "another@example.com", id: "user-8"))
            #expect(approved.header("location") == "\(path)?notice=approved", "\(approved.text)")
            let log = try await ActionTests.actions(gateway, "?action=approve")
            #expect(try log.map { try $0.required("who").string() } == ["another@example.com"])
            #expect(try log.map { try $0.required("who_id").string() } == ["user-8"])
            let id = String(try #require(path.split(separator: "/").last))
            let proposal = try await gateway.send("GET", "/api/proposals/\(id)").object
            let people = ["asked_by", "decided_by"].map { proposal.object($0)?.text("who_id") }
            #expect(people == ["user-7", "user-8"])
        }
    }

    /// Ann asks for something about `match-1`.
    /// - Returns: the page of the request, and the request's id
    private func ask(
        _ ann: ConsoleBrowser, _ key: String, _ fields: KeyValuePairs<String, String>
    ) async throws -> (path: String, id: String) {
        let common: KeyValuePairs = ["name": "match-1", "audience": "all", "priority": "10", "asks": "yes", "key": key]
        let asked = try await ann.post(
            "/console/compose/publish",
            [("csrf", try await ann.formToken())] + (Array(common) + Array(fields)).map { ($0.key, $0.value) })
        let path = String(try #require(asked.header("location"), "\(asked.text)").prefix { $0 != "?" })
        return (path, String(try #require(path.split(separator: "/").last)))
    }

    @Test func `an end for Android has the button of danger, too`() async throws {
        try await GatewayFixture.run(configure: {
            Self.longLife(&$0)
            $0.apps[0].platforms = [.android]
        }) { gateway in
            let address = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
            let followed = try await gateway.send(
                "PUT", "/api/activities/match-1/channels/robot", #"{"platform":"android","token":"\#(address)"}"#)
            try #require(followed.status == 200, "\(followed.text)")
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let (_, id) = try await ask(ann, "console/1", ["event": "end", "state": #"{"home":7}"#])
            let asked = try await gateway.send("GET", "/api/proposals/\(id)").text
            #expect(asked.contains("live_update") && !asked.contains("live_activity"), "\(asked)")
            let room = try await bob.get("/console/names/match-1").text
            #expect(room.contains("<button class=\"primary danger\">Approve</button>"), "\(room)")
        }
    }

    @Test func `the person who asked hears of the answer until it is read`() async throws {
        try await GatewayFixture.run(configure: Self.longLife) { gateway in
            try await gateway.follow("match-1")
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let cid = try await browser(gateway, "cid", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let news = "of your requests"
            let (path, id) = try await ask(ann, "console/1", ["event": "update", "state": #"{"home":7}"#])
            #expect(try await !ann.get("/console").text.contains(news))
            let page = try await bob.get(path)
            _ = try await bob.post(
                path,
                [
                    "csrf": try await bob.formToken(), "request": try hidden("request", in: page), "to": "reject",
                    "reason": "It is 3 : 1",
                ])
            for place in ["/console", "/console/names"] {
                let told = try await ann.get(place).text
                #expect(told.contains("1 of your requests has an answer") && told.contains("state=mine"), "\(told)")
                #expect(told.contains("Inbox <span class=\"badge\">1</span>"), "\(told)")
                #expect(try await !cid.get(place).text.contains(news), "it is not Cid's")
                #expect(try await !bob.get(place).text.contains(news), "Bob decided")
            }
            let mine = try await ann.get("/console/proposals").text
            #expect(mine.contains("“It is 3 : 1”") && mine.contains("decided by bob"), "\(mine)")
            #expect(try await !ann.get("/console").text.contains(news), "she has read it")
            #expect(try await !cid.get("/console/proposals?state=mine").text.contains(id))
            // A person who takes the own request back knows of it.
            let (second, _) = try await ask(ann, "console/2", ["event": "update", "state": #"{"home":8}"#])
            _ = try await ann.post(second, ["csrf": try await ann.formToken(), "to": "withdraw"])
            #expect(try await !ann.get("/console").text.contains(news))
            #expect(try await ann.get("/console/proposals?state=mine").text.contains("withdrawn"))
        }
    }

    @Test func `an approver sees before and after, approves in the room, and stands on the push's page`() async throws {
        try await GatewayFixture.run(configure: Self.longLife) { gateway in
            try await gateway.follow("match-1")
            let state = publishText(
                activity: #"{"name":"match-1","event":"update","content_state":{"home":1,"away":0,"minute":52}}"#)
            let before = try await gateway.publish(state).strings("push_ids")[0]
            let ann = try await browser(gateway, "ann", #""scopes":["read","propose"]"#)
            let bob = try await browser(gateway, "bob", #""scopes":["read","approve"]"#)
            let (path, id) = try await ask(
                ann, "console/1", ["event": "update", "state": #"{"home":2,"away":0,"minute":53}"#])
            let page = try await bob.get(path).text
            let row = "<td data-label=\"Now\">52</td>"
            for words in ["On the cards now", ">Proposed</h2>", "1 : 0 → 2 : 0", ">minute<", row] {
                #expect(page.contains(words), "\(words): \(page)")
            }
            #expect(!page.contains(">away<"), "it does not change: \(page)")
            let room = try await bob.get("/console/names/match-1").text
            #expect(room.contains(">Approve</button>") && room.contains("home 1 → 2, minute 52 → 53"), "\(room)")
            let own = try await ann.get("/console/names/match-1").text
            #expect(own.contains(">Withdraw</button>") && !own.contains(">Approve</button>"), "\(own)")
            #expect(room.contains(#"name="after" value="\#(before)""#), "\(room)")
            let request = try await gateway.send("GET", "/api/proposals/\(id)").string("request")
            let fields: KeyValuePairs = [
                "csrf": try await bob.formToken(), "to": "approve", "request": request, "after": before, "from": "room",
            ]
            let approved = try await bob.post(path, fields)
            #expect(approved.header("location") == "/console/names/match-1?notice=approved", "\(approved.text)")
            let push = try await ann.get("/console/pushes/\(id)").text
            #expect(push.contains("<dt>approved by</dt>") && push.contains(">bob</a>"), "\(push)")
            for place in ["/console", "/console/pushes"] {
                let rows = try await ann.get(place).text
                #expect(rows.contains("second person bob</span>"), "\(rows)")
            }
            #expect(try await ann.get("/console/names/match-1").text.contains("by ann, second person bob"))
            let list = try await bob.get("/console/proposals?state=over").text
            #expect(list.contains("2 : 0"), "\(list)")
        }
    }
}
