import Curl
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The room of a name: no form sends an old thing without its being said.
@Suite struct ConsoleRoomTests {
    private static let draft = "0123456789abcdef01234567"
    private static let place = "draft=\(draft)"

    /// The fields of the form on a page, as a browser sends them without a script.
    private func fields(_ page: Reply) throws -> [(String, String)] {
        var fields: [(String, String)] = []
        for name in Basis.fields + ["of", "filled", "state_before", "key", "at", "mine", "asks"] {
            let parts = page.text.split(separator: "name=\"\(name)\" value=\"", omittingEmptySubsequences: false)
            guard parts.count > 1, let last = parts.last else { continue }
            let value = String(last.prefix { $0 != "\"" }).replacing("&quot;", with: "\"")
            fields.append((name, value))
        }
        return fields
    }

    private func write(_ gateway: GatewayFixture, home: Int, audience: String = "\"all\"") async throws -> String {
        let activity =
            #"{"name":"match-42","event":"update","content_state":{"home":\#(home),"away":0,"minute":\#(home)}}"#
        return try await gateway.publish(publishText(audience: audience, activity: activity)).strings("push_ids")[0]
    }

    private func form(
        _ token: String, _ page: Reply, action: String, _ state: String, _ more: [(String, String)] = []
    ) throws -> [(String, String)] {
        let own = [
            ("csrf", token), ("action", action), ("name", "match-42"), ("event", "update"), ("audience", "all"),
            ("state", state), ("priority", "10"),
        ]
        let known = Set(own.map(\.0) + more.map(\.0))
        return own + more + (try fields(page)).filter { !known.contains($0.0) }
    }

    private func question(_ browser: ConsoleBrowser, _ form: [(String, String)]) async throws -> Reply {
        let reply = try await browser.post("/console/compose?\(Self.place)", form)
        return try await browser.get(try #require(reply.header("location"), "\(reply.text)"))
    }

    @Test func `the form is filled from the present, and a push of somebody else meanwhile is said with both values`()
        async throws
    {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            #expect(room.text.contains("1 : 0"), "\(room.text)")
            _ = try await write(gateway, home: 5)
            // A publisher changes the score of the page that was opened before.
            let state = #"{"home":2,"away":0,"minute":1}"#
            let asked = try await question(browser, form(token, room, action: "publish", state))
            #expect(asked.text.contains("published 5 : 0") && asked.text.contains("Take theirs"), "\(asked.text)")
            #expect(asked.text.contains("Send mine: 5 : 0 → 2 : 0 to 1 phone"), "\(asked.text)")
            // Their values, with those that this form alone changed.
            let theirs = try await browser.post(
                "/console/compose?\(Self.place)", form(token, asked, action: "theirs", state, [("mine", "")]))
            let taken = try await browser.get(try #require(theirs.header("location"))).text
            #expect(taken.contains("&quot;home&quot;: 5") && !taken.contains("Since you opened this"), "\(taken)")
            // Mine goes out at once, on the state that was just shown.
            _ = try await write(gateway, home: 6)
            let sent = try await browser.post(
                "/console/compose/publish?\(Self.place)", form(token, asked, action: "", state))
            #expect(
                sent.status == 303 && sent.header("location")?.hasPrefix("/console/pushes/") == true, "\(sent.text)")
            #expect(try await gateway.send("GET", "/api/schedules").integer("count") == 0, "it does not wait")
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == 4)
        }
    }

    @Test func `a push between the question and its button is asked about anew`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            let state = #"{"home":2,"away":0,"minute":2}"#
            let asked = try await question(browser, form(token, room, action: "publish", state))
            #expect(asked.text.contains(">Publish 1 : 0 → 2 : 0 to 1 phone<"), "\(asked.text)")
            _ = try await write(gateway, home: 5)
            let sent = try await browser.post(
                "/console/compose/publish?\(Self.place)", form(token, asked, action: "", state))
            #expect(sent.header("location") == "/console/compose/publish?\(Self.place)", "\(sent.text)")
            #expect(try await gateway.send("GET", "/api/schedules").integer("count") == 0)
            let again = try await browser.get("/console/compose/publish?\(Self.place)").text
            #expect(again.contains("published 5 : 0") && again.contains("Send mine"), "\(again)")
        }
    }

    @Test func `a push that waits its ten seconds is in the room, and the next one is written after it`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            let asked = try await question(browser, form(token, room, action: "publish", #"{"home":2,"away":0}"#))
            let sent = try await browser.post(
                "/console/compose/publish?\(Self.place)", form(token, asked, action: "", #"{"home":2,"away":0}"#))
            let id = String(try #require(sent.header("location")).dropFirst("/console/pushes/".count))
            let next = try await browser.get("/console/names/match-42")
            #expect(next.text.contains("<strong>2 : 0</strong> goes to 1 phone"), "\(next.text)")
            #expect(next.text.contains("&quot;home&quot;: 2"), "the form is filled from the push that waits")
            #expect(try fields(next).contains { $0 == ("after", id) })
            // Send now ends the wait, and the push keeps its id.
            func due() async throws -> String {
                let schedule = try await gateway.send("GET", "/api/schedules/\(id)").object
                return try #require(schedule.object("schedule")?.text("scheduled_time"))
            }
            let before = try await due()
            let now = try await browser.post("/console/pushes/\(id)", ["csrf": token, "do": "now"])
            #expect(now.header("location") == "/console/names/match-42?sent=\(id)", "\(now.text)")
            #expect(try await due() < before)
        }
    }

    @Test func `a publish that waits its seconds is a publish in the log, and no schedule in the list`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let sent = try await browser.post(
                "/console/compose/publish",
                [
                    "csrf": token, "name": "match-42", "event": "update", "audience": "all", "state": #"{"home":4}"#,
                    "priority": "10", "key": "console/1",
                ])
            #expect(sent.status == 303)
            #expect(try await gateway.send("GET", "/api/schedules").integer("count") == 1)
            #expect(try await browser.get("/console/schedules").text.contains("Nothing waits for its time."))
            try await eventually("the log has the publish") {
                try await ActionTests.actions(gateway, "?action=publish").count == 1
            }
            #expect(try await ActionTests.actions(gateway, "?action=schedule").isEmpty)
        }
    }

    @Test func `the first push to a name that nobody follows waits in its room too`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let sent = try await browser.post(
                "/console/compose/publish",
                [
                    "csrf": token, "name": "match-new", "event": "update", "audience": "all",
                    "state": #"{"home":4}"#, "priority": "10", "key": "console/1",
                ])
            #expect(sent.status == 303)
            let room = try await browser.get("/console/names/match-new")
            #expect(room.status == 200 && room.text.contains("Take it back"), "\(room.text)")
        }
    }

    @Test func `a refusal stands above the page whose form it was`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let page = "http://127.0.0.1:\(gateway.port)/console/names/match-42"
            let reply = try await browser.post(
                "/console/names/match-42", ["csrf": token, "to": "nothing"], headers: [("Referer", page)])
            #expect(reply.status == 422 && reply.text.contains("refusal"), "\(reply.text)")
            #expect(reply.text.contains("id=\"room-name\""), "\(reply.text)")
            let foreign = try await browser.post(
                "/console/names/match-42", ["csrf": token, "to": "nothing"],
                headers: [("Referer", "http://example.com/console/names/match-42")])
            #expect(foreign.status == 422 && !foreign.text.contains("room-name"), "\(foreign.text)")
        }
    }

    @Test func `a test and a push to some are not the state of everyone`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 5)
            _ = try await write(gateway, home: 7, audience: #"{"tag":"gold"}"#)
            let body = publishText(
                audience: #"{"ios_channel":"c"}"#,
                activity: #"{"name":"match-42","event":"update","content_state":{"home":88,"away":0}}"#,
                tail: #","options":{"trace":"c"}"#)
            #expect(try await gateway.publish(body).status == 202)
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42").text
            #expect(room.contains("&quot;home&quot;: 5") && !room.contains("&quot;home&quot;: 88"), "\(room)")
            #expect(room.contains("A test: ") && room.contains("devices with the tag gold"), "\(room)")
            #expect(room.contains("class=\"test\"") && room.contains("a test on one device"), "\(room)")
        }
    }

    @Test func `values that were written for another name are said to be that`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 7)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            let other = try form(token, room, action: "preview", #"{"home":9,"away":0}"#, [("name", "match-51")])
                .filter { $0 != ("name", "match-42") }
            let reply = try await browser.post("/console/compose?\(Self.place)", other)
            let place = String(try #require(reply.header("location")).prefix { $0 != "#" })
            let page = try await browser.get(place).text
            #expect(page.contains("You wrote these values for match-42."), "\(page)")
        }
    }

    @Test func `the retry of an old push stands behind the present state`() async throws {
        let page: [String: Any] = ["dead": ["canRetry": true], "mayPublish": true, "mayOperate": true]
        let template = Templates.all.render("push", page)
        #expect(template.contains(#"<a class="button primary" href="/console/compose?dead="#), "\(template)")
        #expect(template.contains("<button>Retry what was given up"), "\(template)")
    }
}
