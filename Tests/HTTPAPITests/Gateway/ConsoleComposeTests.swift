import Curl
import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Compose: drafts, names, errors, the question, and a publish that is taken back.
@Suite struct ConsoleComposeTests {
    private static let draft = "0123456789abcdef01234567"

    private func hidden(_ name: String, in page: Reply) throws -> String {
        let parts = page.text.split(separator: "name=\"\(name)\" value=\"")
        return String(try #require(parts.count > 1 ? parts.last : nil, "\(page.text)").prefix { $0 != "\"" })
    }

    @Test func `a draft is kept while one types, and goes with its publish`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-42")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let place = "draft=\(Self.draft)"
            let fields: KeyValuePairs = [
                "csrf": token, "name": "match-42", "event": "update", "state": #"{"home":7}"#, "alert_title": "Kept",
            ]
            #expect(try await browser.post("/console/compose/check?\(place)", fields).status == 200)
            let again = try await browser.get("/console/compose?\(place)").text
            #expect(again.contains("Kept") && again.contains("{&quot;home&quot;:7}"), "\(again)")
            #expect(again.contains("This draft is kept"))
            let other = try await browser.get("/console/compose").text
            #expect(other.contains("update of match-42") && other.contains("/console/compose?\(place)"))
            let question = try await browser.submit(
                "/console/compose?\(place)",
                [
                    "csrf": token, "action": "publish", "name": "match-42", "event": "update", "state": #"{"home":7}"#,
                    "alert_title": "Kept",
                ])
            #expect(question.text.contains("Publish to 1 device?"), "\(question.text)")
            // The question has an address, and says the same under the same key.
            let reloaded = try await browser.get("/console/compose/publish?\(place)")
            #expect(try hidden("key", in: reloaded) == hidden("key", in: question))
            // A check that was on the way takes the question's key away. The question comes all the same.
            #expect(try await browser.post("/console/compose/check?\(place)", fields).status == 200)
            let late = try await browser.get("/console/compose/publish?\(place)")
            #expect(try late.status == 200 && hidden("key", in: late) != hidden("key", in: question))
            let sent = try await browser.post(
                "/console/compose/publish?\(place)",
                [
                    "csrf": token, "name": "match-42", "event": "update", "state": #"{"home":7}"#,
                    "alert_title": "Kept", "key": try hidden("key", in: question),
                    "at": try hidden("at", in: question),
                ])
            #expect(sent.header("location")?.hasPrefix("/console/pushes/") == true, "\(sent.text)")
            #expect(try await !browser.get("/console/compose").text.contains("update of match-42"))
            let gone = try await browser.get("/console/compose/publish?\(place)")
            #expect(gone.header("location") == "/console/compose?notice=draft-gone")
        }
    }

    @Test func `a form that was sent after the session's end leads back to its draft`() async throws {
        try await GatewayFixture.run { gateway in
            let stranger = ConsoleBrowser(gateway)
            let next = "/console/sign-in?next=%2Fconsole%2Fcompose%3Fdraft%3D\(Self.draft)"
            for page in ["/console/compose", "/console/compose/publish"] {
                let reply = try await stranger.post("\(page)?draft=\(Self.draft)", ["csrf": "x", "name": "a"])
                #expect(reply.status == 303 && reply.header("location") == next)
            }
            let check = try await stranger.post("/console/compose/check?draft=\(Self.draft)", ["csrf": "x"])
            #expect(check.status == 401, "the script has to know")
        }
    }

    @Test func `drafts of one credential are no other's, and the oldest of too many goes`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            for number in 0...Draft.most {
                let id = "0123456789abcdef012345" + (number < 10 ? "0\(number)" : "\(number)")
                let kept = try await browser.post(
                    "/console/compose/check?draft=\(id)", ["csrf": token, "name": "n-\(number)", "state": "{}"])
                #expect(kept.status == 200)
            }
            let app = try gateway.app
            #expect(try await gateway.store.console.draftTitles(app, of: "master").count == Draft.most)
            let secret = try await CredentialTests.create(gateway, #"{"id":"feed","scopes":["read","publish"]}"#)
            var other = ConsoleBrowser(gateway)
            _ = try await other.signIn(GatewayFixture.key, secret)
            let page = try await other.get("/console/compose?draft=0123456789abcdef01234505").text
            #expect(!page.contains("n-5") && !page.contains("Drafts"), "\(page)")
            let removed = try await browser.post(
                "/console/compose?draft=0123456789abcdef01234505", ["csrf": token, "action": "discard"])
            #expect(removed.header("location") == "/console/compose?notice=draft-dropped")
            #expect(try await gateway.store.console.draftTitles(app, of: "master").count == Draft.most - 1)
        }
    }

    @Test func `a draft keeps the fields of Compose alone, and a page reads no draft of others`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            func keep(_ number: Int, _ fields: [(String, String)]) async throws -> Int {
                try await browser.post(
                    "/console/compose/check?draft=0123456789abcdef01234\(number)", [("csrf", token)] + fields
                ).status
            }
            let own = [("name", "match-1"), ("event", "end"), ("state", "{}"), ("audience", "all")]
            let fields = (0..<80).map { ("f:\($0)", "1") }
            #expect(try await keep(100, own + fields + (0..<900).map { ("\($0)", "") }) == 200)
            let app = try gateway.app
            let record = try await gateway.store.console.draft(app, of: "master", "0123456789abcdef01234100")
            let draft = try #require(record.flatMap { Draft(id: "0123456789abcdef01234100", record: $0) })
            let written = ["after", "base", "base_name"]  // what the page filled the form from
            #expect(
                draft.form.fields.count == own.count + SchemaFields.most + written.count, "\(draft.form.fields)")
            #expect(try await keep(101, (0..<30_000).map { ("\($0)", "") }) == 413)
            #expect(try await gateway.store.console.draftTitles(app, of: "master").count == 1)

            /// The bytes that Redis sends for one page.
            func read() async throws -> Int {
                func sent() async throws -> Int {
                    let info = try await gateway.store.redis.send(RedisCommand("INFO", ["stats"])).string()
                    let line = info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("total_net_output_bytes:") }
                    return try #require(line?.split(separator: ":").last.flatMap { Int($0) })
                }
                let before = try await sent()
                let page = try await browser.get("/console/compose?draft=0123456789abcdef01234999").text
                #expect(page.contains("end of match-1"), "\(page)")
                return try await sent() - before
            }
            let few = try await read()
            for number in 101..<119 {
                let long = String(repeating: "x", count: 200_000)
                #expect(try await keep(number, own + [("attributes", long)]) == 200)
            }
            #expect(try await read() < few + 20_000, "18 drafts have 3,600,000 bytes")
        }
    }

    @Test func `a name brings its fields, its followers and its state, and an error speaks of the field`() async throws
    {
        try await GatewayFixture.run { gateway in
            let schema =
                #"{"names":["match-*"],"content_state":{"type":"object","required":["home"],"properties":{"home":{"type":"integer","title":"Home goals"}}}}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Match", schema).status == 200)
            try await gateway.follow("match-42")
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"match-42","event":"update","content_state":{"home":3,"away":1}}"#))
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let names = try await browser.get("/console/compose/names?q=match").text
            #expect(names.contains(#"<option value="match-42">1 follower · 3 : 1</option>"#), "\(names)")
            let empty = try await browser.get("/console/compose")
            let (before, filled) = (try hidden("of", in: empty), try hidden("filled", in: empty))
            let state = "{\n  \n}"
            let check = try await browser.post(
                "/console/compose/check?draft=\(Self.draft)",
                [
                    "csrf": token, "name": "match-42", "event": "update", "state": state, "state_before": state,
                    "filled": filled, "of": before,
                ]
            ).text
            #expect(check.contains("Home goals") && check.contains("1 follower"), "\(check)")
            #expect(check.contains("&quot;home&quot;: 3"), "its last state, because nobody wrote one")
            let written = try await browser.post(
                "/console/compose/check?draft=\(Self.draft)",
                [
                    "csrf": token, "name": "match-42", "event": "update", "state": #"{"home":9}"#,
                    "state_before": state, "filled": filled, "of": before,
                ]
            ).text
            #expect(written.contains("{&quot;home&quot;:9}"), "a state that somebody wrote stays")
            let wrong = try await browser.submit(
                "/console/compose?draft=\(Self.draft)",
                ["csrf": token, "action": "publish", "name": "match-42", "event": "update", "state": "{}"])
            #expect(wrong.status == 422 && wrong.text.contains("Home goals is required."), "\(wrong.text)")
            #expect(!wrong.text.contains("notification.ios"))
        }
    }

    @Test(arguments: [("skipped", "the clocks skip it"), ("twice", "happens twice where you are")])
    func `a time that the clocks skip or show twice is refused`(zone: String, text: String) async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let answer = try await browser.submit(
                "/console/compose?draft=\(Self.draft)",
                [
                    "csrf": token, "action": "publish", "name": "match-42", "event": "end", "state": "{}",
                    "send_at": "2027-03-28T02:30", "zone": zone,
                ])
            #expect(answer.status == 422 && answer.text.contains(text), "\(answer.text)")
        }
    }

    @Test func `a template has a bounded size`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            func keep(_ count: Int) async throws -> Reply {
                try await browser.submit(
                    "/console/compose?draft=\(Self.draft)",
                    [
                        "csrf": token, "action": "keep", "template_title": "Goal", "name": "match-42",
                        "attributes": String(repeating: "x", count: count),
                    ])
            }
            let refused = try await keep(TemplatesPage.mostBytes)
            #expect(refused.status == 422 && refused.text.contains("A template has 16 KB at most."), "\(refused.text)")
            #expect(try await gateway.store.console.templates(try gateway.app).isEmpty)
            #expect(try await keep(15_000).text.contains("The template is saved."))
        }
    }

    @Test(arguments: [("2020-01-01T10:00", "is in the past"), ("2036-01-01T10:00", "more than 366 days ahead")])
    func `a time that a schedule cannot have is refused before the question`(time: String, text: String) async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let answer = try await browser.submit(
                "/console/compose?draft=\(Self.draft)",
                [
                    "csrf": token, "action": "publish", "name": "match-42", "event": "end", "state": "{}",
                    "send_at": time,
                ])
            #expect(answer.status == 422 && answer.text.contains(text), "\(answer.text)")
        }
    }

    @Test func `a publish waits ten seconds, a second click is the same, and it can be taken back`() async throws {
        try await GatewayFixture.run(configure: { $0.consoleUndo = .seconds(10) }) { gateway in
            try await gateway.follow("match-42")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let fields: KeyValuePairs = [
                "csrf": token, "name": "match-42", "event": "end", "audience": "all", "state": #"{"home":4}"#,
                "priority": "10", "key": "console/1",
            ]
            let question = try await browser.submit(
                "/console/compose",
                [
                    "csrf": token, "action": "publish", "name": "match-42", "event": "end", "audience": "all",
                    "state": "{}",
                ])
            #expect(question.text.contains("End 1 card?") && question.text.contains(">End 1 card</button>"))
            #expect(question.text.contains("which cannot be taken back") && question.text.contains("It waits 10 s"))
            let first = try await browser.post("/console/compose/publish", fields)
            let second = try await browser.post("/console/compose/publish", fields)
            let path = try #require(first.header("location"))
            #expect(path == second.header("location"), "\(second.text)")
            let schedules = try await gateway.send("GET", "/api/schedules")
            #expect(try schedules.integer("count") == 1, "\(schedules.text)")
            let id = String(path.dropFirst("/console/pushes/".count))
            let room = try await browser.get(path)
            #expect(room.header("location") == "/console/names/match-42?sent=\(id)", "it waits in the room of its name")
            let page = try await browser.get("/console/names/match-42?sent=\(id)").text
            #expect(page.contains("Take it back") && page.contains("Send now"), "\(page)")
            #expect(page.split(separator: "autofocus").count == 2 && page.contains("h1 id=\"room-name\" tabindex"))
            let undone = try await browser.submit(
                "/console/pushes/\(id)", ["csrf": token, "do": "undo"])
            #expect(
                undone.text.contains("Taken back.") && undone.text.contains("&quot;home&quot;: 4"), "\(undone.text)")
            #expect(try await gateway.send("GET", "/api/schedules").integer("count") == 0)
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == 0)
            let twice = try await browser.post("/console/pushes/\(id)", ["csrf": token, "do": "undo"])
            #expect(twice.status == 303)
        }
    }
}

/// The words for whom a push is.
@Suite struct ConsoleAudienceTests {
    @Test func `a start is for those with a start token, and not for followers`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let fields: KeyValuePairs = [
                "csrf": token, "action": "publish", "name": "match-1", "event": "start", "state": "{}",
                "attributes_type": "Match", "attributes": "{}", "audience": "all", "alert_title": "Kick-off",
            ]
            let question = try await browser.submit("/console/compose", fields).text
            #expect(question.contains("everyone with a start token"), "\(question)")
            #expect(!question.contains("who follows"), "\(question)")
            let push = try await gateway.publish(
                publishText(
                    activity: #"{"name":"match-1","event":"start","content_state":{},"attributes_type":"Match","#
                        + #""attributes":{},"alert":{"title":"t","body":"b"}}"#))
            let page = try await browser.get("/console/pushes/\(try push.strings("push_ids")[0])").text
            #expect(page.contains("everyone with a start token") && !page.contains("everyone who follows"), "\(page)")
        }
    }
}

/// Compose in place of a retry: what is so now, for the devices that a dead letter keeps.
@Suite struct ConsoleDeadComposeTests {
    /// A dead letter that keeps these devices, of a push that said `{"n":1}`. The name's state is `{"n":7}` now.
    private func letter(
        _ gateway: GatewayFixture, _ devices: [String], isLast: Bool = false, of push: String? = nil
    ) async throws -> PushID {
        let id = try await gateway.deadLetter("match-1", push)
        let store = gateway.store
        let tag = store.keys.tag(try gateway.app, try ActivityName("match-1"))
        for device in devices {
            let field = RedisArgument.bytes(try ChannelID(device).stored)
            try await store.redis.run("HSET", store.keys.deadChannels(tag, id), field, "Shutdown")
        }
        try await store.redis.run(
            "HSET", store.keys.deadLetter(tag, id), "r:Unregistered", "0", "r:Shutdown", .int(max(1, devices.count)))
        if isLast { return id }
        _ = try await gateway.publish(
            publishText(activity: #"{"name":"match-1","event":"update","content_state":{"n":7}}"#))
        return id
    }

    @Test(arguments: [
        (["a-1"], "device", "value=\"a-1\""),
        (["a-1", "a-2"], "json", "{&quot;channel&quot;:[&quot;a-1&quot;,&quot;a-2&quot;]}"),
    ])
    func `the page composes the present state for the devices of the letter`(
        devices: [String], audience: String, value: String
    ) async throws {
        try await GatewayFixture.run { gateway in
            let id = try await letter(gateway, devices)
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let path = "/console/compose?dead=\(id)"
            for page in ["/console/dead", "/console/pushes/\(id)"] {
                #expect(try await browser.get(page).text.contains("href=\"\(path)\""), "\(page)")
            }
            let page = try await browser.get(path).text
            #expect(page.contains("&quot;n&quot;: 7") && !page.contains("&quot;n&quot;: 1"), "\(page)")
            #expect(page.contains("<option value=\"\(audience)\" selected>"), "\(page)")
            // Redis keeps them in no order.
            let other = value.replacing("a-1&quot;,&quot;a-2", with: "a-2&quot;,&quot;a-1")
            #expect((page.contains(value) || page.contains(other)) && page.contains("value=\"match-1\""), "\(page)")
            #expect(!page.contains("Not copied") && !page.contains("This goes to all"), "\(page)")
        }
    }

    @Test func `a letter of a push for Android alone is composed for Android`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            let part = #"{"name":"match-1","event":"update","content_state":{"n":1}}"#
            let notification = #"{"android":{"live_update":\#(part)}}"#
            let push = #"{"audience":{"channel":"a-1"},"device_types":["android"],"notification":\#(notification)}"#
            let id = try await letter(gateway, ["a-1"], of: push)
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/compose?dead=\(id)").text
            #expect(page.contains("<option value=\"android\" selected>Android</option>"), "\(page)")
            #expect(page.contains("value=\"a-1\"") && page.contains("value=\"match-1\""), "\(page)")
        }
    }

    @Test func `an audience that Compose cannot name is that of the push, and the page says so`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await letter(gateway, [])
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/compose?dead=\(id)").text
            #expect(page.contains("This goes to all that the push was for"), "\(page)")
            #expect(page.contains("value=\"00000000-0000-4000-8000-000000000001\""), "\(page)")
            let dead = try await browser.get("/console/pushes/\(id)").text
            #expect(!dead.contains("Retry what was given up"), "a retry reaches nobody: \(dead)")
            #expect(try await browser.get("/console/compose?dead=\(PushID.random())").status == 404)
        }
    }

    @Test func `the name's last push says what is so now, even if it was stopped`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await letter(gateway, ["a-1"], isLast: true)
            // A worker takes the state of a push away that it stops.
            let tag = gateway.store.keys.tag(try gateway.app, try ActivityName("match-1"))
            try await gateway.store.redis.run("DEL", gateway.store.keys.contentStates(tag))
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/compose?dead=\(id)").text
            #expect(page.contains("&quot;n&quot;: 1") && page.contains("its state is the present one"), "\(page)")
            #expect(!page.contains("Nobody knows"), "\(page)")
        }
    }

    @Test func `once the name has ended, its cards are ended`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await letter(gateway, ["a-1"])
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"match-1","event":"end","content_state":{"n":9}}"#))
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/compose?dead=\(id)").text
            #expect(page.contains("<option selected>end</option>") && page.contains("&quot;n&quot;: 9"), "\(page)")
            #expect(page.contains("The name has ended since"), "\(page)")
        }
    }
}

/// Facts about the whole app, on each of its pages.
@Suite struct ConsoleStandingTests {
    @Test func `an alarm is on every page until it is known, and again when it comes again`() async throws {
        try await GatewayFixture.run { gateway in
            let app = try gateway.app
            let reason = "pushes expired before they were sent to all; see `lamplighter dead list`"
            try await gateway.store.alarms.raise(app, .expired, reason)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let token = try await browser.formToken()
            for path in ["/console", "/console/names", "/console/compose", "/console/actions"] {
                let page = try await browser.get(path).text
                #expect(page.contains("Expired pushes") && page.contains("/console/alarms"), "\(path)")
                #expect(!page.contains("lamplighter dead list"), "a page has no shell")
                #expect(page.contains(#"Alarms <span class="badge">1</span>"#), "\(page)")
                #expect(page.contains("No worker has been seen"))
            }
            let alarms = try await browser.get("/console/alarms").text
            #expect(
                alarms.contains("Decide in Dead letters") && alarms.contains("<code>lamplighter dead drop</code>"),
                "\(alarms)")
            let known: KeyValuePairs = ["csrf": token, "kind": "expired", "to": "known"]
            #expect(try await browser.post("/console/alarms", known).status == 303)
            let names = try await browser.get("/console/names").text
            #expect(!names.contains("Expired pushes") && !names.contains("badge"), "\(names)")
            #expect(try await browser.get("/console/alarms").text.contains("Marked as known by <span>master secret"))
            #expect(try await browser.get("/console").text.contains("1 alarm is known"))
            // It ends, and is raised later.
            try await gateway.store.alarms.clear(app, .expired)
            #expect(try await browser.get("/console/alarms").text.contains("No alarms."))
            let noted = AppState.Known(credential: "master", who: nil, whoID: nil, at: testNow)
            let stored = AlarmNote(known: noted, since: testNow - 1)
            try await gateway.store.console.acknowledge(app, "expired", stored.record)
            try await gateway.store.alarms.raise(app, .expired, reason)
            #expect(try await browser.get("/console/names").text.contains("Expired pushes"))
        }
    }

    @Test func `an alarm of one platform is known, and the other platform's alarm of the kind is not`() async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            let app = try gateway.app
            for platform in [Platform.ios, .android] {
                let reason = "\(platform) refuses"
                try await gateway.store.alarms.raise(AppPlatform(app, platform), .credentials, reason)
            }
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let alarms = try await browser.get("/console/alarms").text
            #expect(alarms.contains("\(Alarm.Kind.credentials.title), Android"), "\(alarms)")
            let known: KeyValuePairs = ["csrf": token, "kind": "credentials@1", "to": "known"]
            #expect(try await browser.post("/console/alarms", known).status == 303)
            let names = try await browser.get("/console/names").text
            #expect(names.contains("ios refuses") && !names.contains("android refuses"), "\(names)")
            let ready = try await gateway.send("GET", "/readyz").object.required("alarms").array()
            #expect(try ready.map { try $0.object().text("platform") } == [nil, "android"])
        }
    }

    @Test func `a credential for some names learns of an alarm, and not whom it is about`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.store.alarms.raise(try gateway.app, .expired, "secret-name expired")
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"m","scopes":["publish","read"],"name_prefix":"match-"}"#)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn(GatewayFixture.key, secret)
            let page = try await browser.get("/console/compose").text
            #expect(page.contains("Expired pushes") && !page.contains("secret-name"))
        }
    }

    @Test func `the alarm of expired pushes ends with the last dead letter`() async throws {
        try await GatewayFixture.run { gateway in
            let app = try gateway.app
            try await gateway.store.alarms.raise(app, .expired, "pushes expired")
            let push = try await gateway.publish(
                publishText(activity: #"{"name":"match-42","event":"update","content_state":{}}"#))
            let id = try #require(PushID(try push.strings("push_ids")[0]))
            let name = try ActivityName("match-42")
            try await gateway.store.deadLetters.enlist(app, name, [id])
            let letter = gateway.store.keys.deadLetter(gateway.store.keys.tag(app, name), id)
            _ = try await gateway.store.redis.send(RedisCommand("HSET", letter, ["at", .int(1), "tokens", .int(1)]))
            #expect(try await gateway.send("DELETE", "/api/dead/\(id)").status == 204)
            #expect(try await gateway.store.alarms.list([app]).isEmpty)
        }
    }
}
