import Curl
import LiveActivity
import Redis
import StrictJSON
import Synchronization
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

    /// The rows of the question about a change: each member with the value of now and with the form's own.
    private func asked(_ page: Reply) -> [String] {
        let row =
            /data-label="What">(.*?)<\/td><td data-label="Now"><strong>(.*?)<\/strong><\/td><td data-label="Yours">(.*?)</
        return page.text.matches(of: row).map { "\($0.1) \($0.2) \($0.3)" }
    }

    @Test func `two members that moved at once are two questions, and each is answered alone`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            _ = try await write(gateway, home: 5)
            let state = #"{"home":2,"away":0,"minute":3}"#
            let question = try await question(browser, form(token, room, action: "publish", state))
            #expect(asked(question) == ["home 5 2", "minute 5 3"], "\(question.text)")
            // The form asks too, with a button for each member.
            let back = try await browser.get("/console/compose?\(Self.place)")
            #expect(asked(back) == ["home 5 2", "minute 5 3"], "\(back.text)")
            #expect(back.text.contains("value=\"take:home\"") && back.text.contains("value=\"take:minute\""))
            let taken = try await self.question(browser, form(token, back, action: "take:home", state))
            #expect(asked(taken) == ["minute 5 3"], "\(taken.text)")
            #expect(taken.text.contains("&quot;home&quot;: 5") && taken.text.contains("&quot;minute&quot;: 3"))
            let mine = try await self.question(
                browser, form(token, taken, action: "mine", #"{"home":5,"away":0,"minute":3}"#))
            #expect(mine.text.contains("Send mine:") && asked(mine).isEmpty, "\(mine.text)")
            // Somebody publishes once more, and the way back asks about what is new.
            _ = try await write(gateway, home: 6)
            let again = try await browser.get("/console/compose?\(Self.place)")
            #expect(asked(again) == ["home 6 5", "minute 6 3"], "\(again.text)")
        }
    }

    @Test func `a push that says the same as the form is no question, and the publish comes after it`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            let newest = try await write(gateway, home: 5)
            let state = #"{"home":5,"away":0,"minute":5}"#
            let question = try await question(browser, form(token, room, action: "publish", state))
            #expect(asked(question).isEmpty && !question.text.contains("Send mine"), "\(question.text)")
            let sent = try await browser.post(
                "/console/compose/publish?\(Self.place)", form(token, question, action: "", state))
            #expect(sent.header("location")?.hasPrefix("/console/pushes/") == true, "\(sent.text)")
            let waiting = try await gateway.send("GET", "/api/schedules").text
            #expect(waiting.contains(#""after":"\#(newest)""#), "\(waiting)")
        }
    }

    /// A publish of the console that did not go out, because another one came first.
    func conflict(_ gateway: GatewayFixture, _ browser: ConsoleBrowser, _ token: String, _ state: String) async throws
        -> PushID
    {
        try await gateway.follow("match-42")
        _ = try await write(gateway, home: 1)
        let other = try await ConsoleBrowser.start(gateway)
        let room = try await browser.get("/console/names/match-42")
        let question = try await question(browser, form(token, room, action: "publish", state))
        let sent = try await browser.post(
            "/console/compose/publish?\(Self.place)", form(token, question, action: "", state))
        let id = try #require(sent.header("location")).dropFirst("/console/pushes/".count)
        _ = try await write(gateway, home: 5)
        _ = try await other.0.post("/console/pushes/\(id)", ["csrf": other.1, "do": "now"])
        let runs = try await gateway.store.schedules.runDue(try AppKey(GatewayFixture.key), limit: 10)
        #expect(runs.map(\.outcome) == [.failed("Conflict")])
        return try #require(PushID(String(id)))
    }

    @Test func `a publish that did not go out is asked about with both values, however late`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let state = #"{"home":2,"away":0,"minute":1}"#
            let id = try await conflict(gateway, browser, token, state)
            let live = try await browser.get("/console/names/match-42").text
            #expect(live.contains("<strong>2 : 0</strong> did not go out: the cards show <strong>5 : 0</strong>"))
            #expect(live.contains("It would change home 5 → 2, minute 5 → 1"), "\(live)")
            // Somebody publishes once more before the sender decides.
            _ = try await write(gateway, home: 6)
            let before = try await gateway.send("GET", "/api/pushes").integer("total")
            let mine = try await browser.post("/console/pushes/\(id)", ["csrf": token, "do": "mine"])
            let late = try await browser.get(try #require(mine.header("location"), "\(mine.text)"))
            #expect(asked(late) == ["home 6 2", "minute 6 1"], "\(late.text)")
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == before, "nothing goes out unasked")
            let draft = try #require(mine.header("location")?.split(separator: "=").last)
            let gone = try await browser.post(
                "/console/compose/publish?draft=\(draft)", form(token, late, action: "", state))
            #expect(gone.header("location")?.hasPrefix("/console/pushes/") == true, "\(gone.text)")
            let after = try await browser.get("/console/names/match-42").text
            #expect(after.contains("2 : 0") && !after.contains("did not go out:"), "\(after)")
        }
    }

    @Test func `a publish that was taken back has no condition of its own in the form`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            let state = #"{"home":2,"away":0,"minute":1}"#
            let question = try await question(browser, form(token, room, action: "publish", state))
            let sent = try await browser.post(
                "/console/compose/publish?\(Self.place)", form(token, question, action: "", state))
            let id = String(try #require(sent.header("location")).dropFirst("/console/pushes/".count))
            let undone = try await browser.post("/console/pushes/\(id)", ["csrf": token, "do": "undo"])
            let path = String(try #require(undone.header("location")).prefix { $0 != "&" })
            let form = try await browser.get(path)
            #expect(form.text.contains("&quot;home&quot;: 2") && asked(form).isEmpty, "\(form.text)")
            #expect(!form.text.contains("&quot;after&quot;"), "\(form.text)")
            let newest = try await write(gateway, home: 5)
            #expect(try await asked(browser.get(path)) == ["home 5 2", "minute 5 1"])
            #expect(try await fields(browser.get(path)).contains { $0.0 == "after" && $0.1 != newest })
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

    @Test(arguments: ["update", "start"])
    func `a room reads the list of schemas once`(event: String) async throws {
        try await GatewayFixture.run { gateway in
            let schema =
                #"{"names":["match-*"],"content_state":{"properties":{"home":{"type":"integer","title":"Goals"}}}}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Match", schema).status == 200)
            // No card of the name told its type, so the names of the schemas decide.
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            var way = ConsoleBridge(
                live: gateway.gateway.live, recorder: ActionRecorder(gateway.store.actions, logger: .quiet)
            ).gateway
            let identity = try #require(
                try await way.signIn(GatewayFixture.key, GatewayFixture.masterSecret, testNow))
            let reads = Mutex(0)
            way.call = { [call = way.call] identity, asked in
                if asked.path == "/api/schemas" { reads.withLock { $0 += 1 } }
                return await call(identity, asked)
            }
            let page = await Console(way, undo: .zero).respond(
                to: ConsoleRequest(
                    method: "GET", path: "/console/names/match-42", query: "event=\(event)", now: testNow),
                session: ConsoleSession(identity))
            guard case .bytes(let bytes) = page.body else {
                Issue.record("\(page.status)")
                return
            }
            #expect(String(decoding: bytes, as: UTF8.self).contains("Goals"), "the form has the schema's fields")
            #expect(reads.withLock { $0 } == 1)
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
            let rows = try await browser.get("/console/pushes").text
            #expect(rows.matches(of: />a test</).count == 1, "\(rows)")
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

    @Test func `a room is not shown without a part that cannot be read now`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            _ = try await write(gateway, home: 1)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let room = try await browser.get("/console/names/match-42")
            #expect(room.status == 200)
            let (redis, keys, app) = (gateway.store.redis, gateway.store.keys, try gateway.app)
            // Without its fields, or without the schedules that wait, a page would look whole.
            for key in [keys.schemas(app), keys.at(app)] {
                _ = try await redis.run("SET", key, "of another type")
                #expect(try await browser.get("/console/names/match-42").status == 500, "\(key)")
                let check = try await browser.post(
                    "/console/compose/check?\(Self.place)",
                    try form(token, room, action: "preview", #"{"home":2,"away":0}"#))
                #expect(check.status == 500, "\(key)")
                _ = try await redis.run("DEL", key)
            }
        }
    }

    @Test func `the retry of an old push stands behind the present state`() async throws {
        let page: [String: Any] = ["dead": ["canRetry": true], "mayPublish": true, "mayOperate": true]
        let template = Templates.all.render("push", page)
        #expect(template.contains(#"<a class="button primary" href="/console/compose?dead="#), "\(template)")
        #expect(template.contains("<button>Retry what was given up"), "\(template)")
    }
}
