import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// The console of an app with Android alone, or with both platforms.
@Suite struct ConsolePlatformTests {
    private func run(_ platforms: Set<Platform>, _ body: (GatewayFixture) async throws -> Void) async throws {
        try await GatewayFixture.run(
            configure: {
                $0.consoleUndo = .seconds(10)
                $0.apps[0].platforms = platforms
            }
        ) { gateway in
            let token = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
            let followed = try await gateway.send(
                "PUT", "/api/activities/match-42/channels/robot", #"{"platform":"android","token":"\#(token)"}"#)
            try #require(followed.status == 200, "\(followed.text)")
            try await body(gateway)
        }
    }

    /// Fills the form, and presses the button of the question.
    /// - Returns: the path of the push
    private func publish(
        _ browser: ConsoleBrowser, _ token: String, _ more: KeyValuePairs<String, String>
    ) async throws -> Reply {
        let place = "/console/compose%@?draft=0123456789abcdef01234567"
        let fields = [("csrf", token), ("name", "match-42")] + more.map { ($0.key, $0.value) }
        _ = try await browser.post(place.replacing("%@", with: ""), fields + [("action", "publish")])
        let question = try await browser.get(place.replacing("%@", with: "/publish"))
        let problem = question.status == 200 ? "" : try await browser.get(place.replacing("%@", with: "")).text
        try #require(problem.isEmpty, "\(problem)")
        func hidden(_ name: String) throws -> String {
            let parts = question.text.split(separator: "name=\"\(name)\" value=\"")
            return String(try #require(parts.count > 1 ? parts.last : nil, "\(question.text)").prefix { $0 != "\"" })
        }
        let answer = [("key", try hidden("key")), ("at", try hidden("at"))]
        return try await browser.post(place.replacing("%@", with: "/publish"), fields + answer)
    }

    @Test func `a publish that waits its seconds can be read, sent now and taken back`() async throws {
        try await run([.android]) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let sent = try await publish(browser, token, ["event": "end", "state": #"{"home":2,"away":1}"#])
            let path = try #require(sent.header("location"), "\(sent.text)")
            let room = try await browser.get("/console/names/match-42").text
            #expect(room.contains("Take it back") && room.contains("2 : 1"), "\(room)")
            let undone = try await browser.submit(path, ["csrf": token, "do": "undo"])
            #expect(
                undone.text.contains("&quot;home&quot;: 2") && !undone.text.contains("Not copied"), "\(undone.text)")
            #expect(undone.text.contains("<option selected>end</option>"), "\(undone.text)")
            let again = try await publish(browser, token, ["event": "update", "state": #"{"home":3,"away":1}"#])
            let now = try await browser.post(
                try #require(again.header("location"), "\(again.text)"), ["csrf": token, "do": "now"])
            #expect(now.header("location")?.hasPrefix("/console/names/match-42?sent=") == true, "\(now.text)")
        }
    }

    @Test func `the list of schedules has the name and the event, and finds by name`() async throws {
        try await run([.android]) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let time = TimeText.plainText(gateway.store.time.now() + 86_400_000)
            let sent = try await publish(
                browser, token, ["event": "end", "state": #"{"home":2,"away":1}"#, "send_at": time])
            #expect(sent.status == 303, "\(sent.text)")
            for query in ["", "?name=match"] {
                let list = try await browser.get("/console/schedules\(query)").text
                #expect(list.contains("/console/names/match-42") && list.contains("2 : 1"), "\(list)")
            }
            #expect(try await !browser.get("/console/schedules?name=order").text.contains("2 : 1"))
            let file = try await browser.get("/console/schedules?as=csv").text
            #expect(file.contains("match-42") && file.contains("end"), "\(file)")
        }
    }

    @Test func `one device is the audience in an app of any platform`() async throws {
        try await run([.android]) { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let sent = try await publish(
                browser, token,
                ["event": "update", "state": "{}", "audience": "device", "audience_value": "robot"])
            let path = try #require(sent.header("location"), "\(sent.text)")
            let id = String(path.dropFirst("/console/pushes/".count))
            #expect(try await browser.post(path, ["csrf": token, "do": "now"]).status == 303)
            _ = try await gateway.store.schedules.runDue(try gateway.app, limit: 10)
            let content = try await gateway.send("GET", "/api/push/\(id)/content")
            let audience = try content.object.required("audience").object()
            #expect(audience.text("channel") == "robot", "\(content.text)")
            let page = try await browser.get("/console/pushes/\(id)").text
            #expect(page.contains("the device robot"), "\(page)")
        }
    }

    @Test func `a push for one platform is sent again for that platform`() async throws {
        try await run([.ios, .android]) { gateway in
            let body =
                #"{"audience":{"tag":"gold"},"device_types":["android"],"notification":{"android":{"live_update":{"name":"match-42","event":"update","type":"T","content_state":{"n":1}},"collapse_key":"k"}}}"#
            let push = try await gateway.publish(body).strings("push_ids")[0]
            let content = try await gateway.send("GET", "/api/push/\(push)/content").object
            #expect(content.text("audience") == nil && content.object("audience")?.text("tag") == "gold")
            #expect(try content.required("device_types").array().map { try $0.string() } == ["android"])
            let own = try content.required("notification").object()
            #expect(
                own.object("android")?["live_update"].map(JSON.init)?.text
                    == #"{"name":"match-42","event":"update","type":"T","content_state":{"n":1}}"#)
            #expect(own.object("android")?.text("collapse_key") == "k" && own["ios"] == nil)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let form = try await browser.get("/console/compose?push=\(push)").text
            #expect(form.contains("<option value=\"android\" selected>Android</option>"), "\(form)")
            #expect(form.contains("type for Android") && !form.contains("what iOS got"), "\(form)")
            let sent = try await publish(
                browser, token,
                [
                    "event": "update", "state": #"{"n":2}"#, "audience": "tag", "audience_value": "gold",
                    "platforms": "android",
                ])
            let path = try #require(sent.header("location"), "\(sent.text)")
            let schedule = try await gateway.send("GET", "/api/schedules/\(path.dropFirst("/console/pushes/".count))")
            #expect(schedule.text.contains(#""device_types":["android"]"#), "\(schedule.text)")
            #expect(!schedule.text.contains("live_activity"), "\(schedule.text)")
            let room = try await browser.get("/console/names/match-42").text
            #expect(room.contains("the group device, on Android"), "\(room)")
        }
    }

    @Test func `a push for everyone on one platform is not for everyone`() async throws {
        try await run([.ios, .android]) { gateway in
            try await gateway.follow("match-42")
            let both = try await gateway.publish(
                #"{"audience":"all","device_types":"all","notification":{"ios":{"live_activity":{"name":"match-42","event":"update","content_state":{"home":1,"away":0}}},"android":{"live_update":{"name":"match-42","event":"update","content_state":{"home":1,"away":0}}}}}"#
            )
            #expect(both.status == 202, "\(both.text)")
            let one = try await gateway.publish(
                publishText(activity: #"{"name":"match-42","event":"update","content_state":{"home":7,"away":0}}"#))
            #expect(one.status == 202, "\(one.text)")
            let newest = try await gateway.send("GET", "/api/activities/match-42").object.object("newest_push")
            #expect(newest?.text("audience") == "all" && newest?["device_types"] != nil)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let copy = try await browser.get("/console/compose?push=\(both.strings("push_ids")[0])").text
            #expect(!copy.contains("for Android") && !copy.contains("what iOS got"), "\(copy)")
            let room = try await browser.get("/console/names/match-42").text
            #expect(room.contains("everyone who follows, on iOS"), "\(room)")
            #expect(room.contains("&quot;home&quot;:1") || room.contains("&quot;home&quot;: 1"), "\(room)")
            // Its end closes nothing, and the question does not say so.
            let fields: KeyValuePairs = [
                "csrf": token, "action": "publish", "name": "match-42", "event": "end", "state": "{}",
                "platforms": "ios",
            ]
            let question = try await browser.submit("/console/compose", fields).text
            #expect(question.contains("End 1 card?") && !question.contains("closes the name"), "\(question)")
            #expect(question.contains("everyone who follows, on iOS"), "\(question)")
        }
    }
}
