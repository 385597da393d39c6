import Curl
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The pages of the console, through HTTP and without a script.
@Suite struct ConsoleTests {
    @Test func `a publish is asked for before it goes out, and a second click is the same push`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in 1...3 {
                let path = "/api/activities/match-42/channels/device-\(channel)"
                _ = try await gateway.send("PUT", path, #"{"token":"aa0\#(channel)"}"#)
            }
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let fields: KeyValuePairs = [
                "csrf": token, "action": "publish", "name": "match-42", "event": "update", "audience": "all",
                "state": #"{"home":1}"#, "priority": "10", "alert_title": "Goal",
            ]
            let question = try await browser.submit("/console/compose", fields)
            #expect(question.text.contains("Publish to 3 devices?") && question.text.contains(">Publish to 3<"))
            #expect(question.status == 200 && question.text.contains("3 lock screens will light"), "\(question.text)")
            #expect(question.text.contains("with an alert"))
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == 0, "asking publishes nothing")
            let key = try #require(question.text.split(separator: #"name="key" value=""#).last).prefix { $0 != "\"" }
            let at = try #require(question.text.split(separator: #"name="at" value=""#).last).prefix { $0 != "\"" }
            let confirmed: KeyValuePairs = [
                "csrf": token, "name": "match-42", "event": "update", "audience": "all", "state": #"{"home":1}"#,
                "priority": "10", "alert_title": "Goal", "key": String(key), "at": String(at),
            ]
            let first = try await browser.post("/console/compose/publish", confirmed)
            let second = try await browser.post("/console/compose/publish", confirmed)
            #expect(first.status == 303 && first.header("location") == second.header("location"))
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == 1)
            let page = try await browser.get(try #require(first.header("location")))
            #expect(page.status == 200 && page.text.contains("<dt>targets</dt>"))
            for name in SettledField.allCases { #expect(page.text.contains("<dt>\(name.rawValue)</dt>")) }
        }
    }

    @Test func `a mistake is named with its field, and the form keeps what was typed`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            for (field, value, text) in [
                ("state", #"{"home":1,}"#, "Content state: "), ("priority", "7", "Priority: "),
                ("name", "", "Name: "), ("stale_minutes", "soon", "Stale after: "),
            ] {
                var fields = ["name": "match-42", "event": "update", "state": "{}"]
                fields[field] = value
                let sent: KeyValuePairs = [
                    "csrf": token, "action": "publish", "name": fields["name"] ?? "", "event": "update",
                    "state": fields["state"] ?? "", "priority": fields["priority"] ?? "10",
                    "stale_minutes": fields["stale_minutes"] ?? "", "alert_title": "kept text",
                ]
                let reply = try await browser.submit("/console/compose", sent)
                #expect(reply.status == 422 && reply.text.contains(text), "\(reply.text)")
                #expect(reply.text.contains("kept text") && reply.text.contains(#"aria-invalid="true""#))
            }
        }
    }

    @Test func `a schema gives the content state fields, and they count without a script`() async throws {
        try await GatewayFixture.run { gateway in
            let schema =
                #"{"names":["match-*"],"content_state":{"type":"object","properties":{"home":{"type":"integer","title":"Goals"}}}}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Match", schema).status == 200)
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let page = try await browser.get("/console/compose?name=match-42")
            #expect(page.text.contains("Goals") && page.text.contains(#"name="f:home""#))
            let state = "{}"
            let reply = try await browser.submit(
                "/console/compose",
                [
                    "csrf": token, "action": "preview", "name": "match-42", "event": "update", "state": state,
                    "state_before": state, "f:home": "3",
                ])
            #expect(reply.text.contains("&quot;home&quot;: 3"), "\(reply.text)")
        }
    }

    @Test func `a copy is for the push's audience, and a scheduled push is shown and changed`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            func body(_ more: String = "") -> String {
                #"{"audience":{"tag":"gold","group":"club"},"device_types":["ios"],"notification":{"ios":{"live_activity":{"#
                    + #""name":"match-42","event":"update","content_state":{"home":7}}}}\#(more)}"#
            }
            let sent = try await gateway.send("POST", "/api/push", body()).strings("push_ids")[0]
            let copy = try await browser.get("/console/compose?push=\(sent)").text
            #expect(copy.contains(#"<option value="tag" selected>"#) && copy.contains(#"value="club:gold""#))
            #expect(copy.contains("Not copied: options"), "a payload has no options")

            let day = wallClock() / 86_400_000 * 86_400_000 + 2 * 86_400_000
            let date = String(TimeText.plainText(day).prefix(10))
            let made = try await gateway.send(
                "POST", "/api/schedules",
                #"{"schedule":{"scheduled_time":"\#(date)T03:04:05"},"push":\#(body(#","options":{"conflate":false}"#))}"#
            )
            let id = try made.strings("schedule_ids")[0]
            let page = try await browser.get("/console/pushes/\(id)").text
            #expect(page.contains("What will be sent") && page.contains("club") && page.contains("7"))
            let form = try await browser.get("/console/compose?schedule=\(id)").text
            #expect(form.contains("Change the schedule") && form.contains(#"value="\#(date)T03:04:05" data-utc"#))
            #expect(form.contains("conflate") && !form.contains("Not copied"))
            let changed = try await browser.post(
                "/console/compose/publish",
                [
                    "csrf": token, "schedule": id, "name": "match-42", "event": "update", "audience": "tag",
                    "audience_value": "club:gold", "state": #"{"home":8}"#, "send_at": "\(date)T03:05",
                    "options": #"{"conflate":false}"#,
                ])
            #expect(changed.status == 303 && changed.header("location")?.contains(id) == true, "\(changed.text)")
            let now = try await gateway.send("GET", "/api/schedules/\(id)").text
            #expect(now.contains(#""home":8"#) && now.contains("\(date)T03:05:00") && now.contains("conflate"))
            let without = try await browser.submit(
                "/console/compose/publish",
                ["csrf": token, "schedule": id, "name": "match-42", "event": "update", "state": "{}"])
            #expect(without.status == 422 && without.text.contains("Send at: is required"), "\(without.text)")
        }
    }

    @Test func `a pause and a missing worker are told before a publish`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            _ = try await gateway.send("POST", "/api/pause")
            let question = try await browser.submit(
                "/console/compose",
                ["csrf": token, "action": "publish", "name": "match-42", "event": "update", "state": "{}"])
            #expect(question.text.contains("Once the app is resumed, no lock screen will light"))
            for text in [question.text, try await browser.get("/console/compose?name=match-42").text] {
                #expect(text.contains("The app is paused") && text.contains("No worker has been seen"), "\(text)")
            }
        }
    }

    @Test func `a device is explained and forgotten, after a question`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("PUT", "/api/activities/match-42/channels/device-1", #"{"token":"aabb"}"#)
            try await gateway.beat()
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let found = try await browser.get("/console/devices?id=device-1")
            #expect(found.header("location") == "/console/devices/device-1")
            let page = try await browser.get("/console/devices/device-1?name=match-42")
            #expect(page.text.contains("It would get the next update"), "\(page.text)")
            let question = try await browser.post("/console/devices/device-1/forget", ["csrf": token])
            #expect(question.status == 200 && question.text.contains("Forget this device?"))
            #expect(try await browser.get("/console/devices/device-1").status == 200)
            let done = try await browser.post("/console/devices/device-1/forget", ["csrf": token, "confirmed": "yes"])
            #expect(done.status == 303)
            try await eventually("the device is forgotten") {
                try await gateway.send("GET", "/api/channels/device-1").status == 404
            }
        }
    }

    @Test func `templates are kept, listed, used and removed`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let kept = try await browser.post(
                "/console/compose",
                [
                    "csrf": token, "action": "keep", "template_title": "Goal, home", "name": "match-42",
                    "event": "update", "state": #"{"home":1}"#, "alert_title": "Goal",
                ])
            #expect(kept.status == 303)
            #expect(try await browser.get("/console/templates").text.contains("Goal, home"))
            let used = try await browser.get("/console/compose?template=Goal%2C%20home")
            #expect(used.text.contains(#"value="Goal""#) && used.text.contains("{&quot;home&quot;:1}"))
            let dropped = try await browser.post(
                "/console/templates/drop", ["csrf": token, "template_title": "Goal, home", "confirmed": "yes"])
            #expect(dropped.status == 303)
            #expect(try await gateway.store.console.templates(try gateway.app).isEmpty)
        }
    }

    @Test func `what is done in the console is in the log of actions, with the address`() async throws {
        try await GatewayFixture.run { gateway in
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let done = try await browser.post(
                "/console/names/match-42", ["csrf": token, "to": "pause", "confirmed": "yes"])
            #expect(done.status == 303)
            let page = try await browser.get("/console/actions").text
            #expect(page.contains("pause") && page.contains("match-42") && page.contains("127.0.0.1"), "\(page)")
        }
    }

    @Test func `a link from another site leads to its page and not to the sign-in`() async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await ConsoleBrowser(gateway).get(
                "/console/names?contains=a", headers: [("Sec-Fetch-Site", "cross-site")])
            #expect(reply.status == 200)
            #expect(reply.text.contains(#"http-equiv="refresh" content="0;url=/console/names?contains=a""#))
            let plain = try await ConsoleBrowser(gateway).get("/console/names?contains=a")
            #expect(plain.header("location") == "/console/sign-in?next=%2Fconsole%2Fnames%3Fcontains%3Da")
        }
    }

    @Test func `files have an address of their own for each version`() async throws {
        try await GatewayFixture.run { gateway in
            let browser = ConsoleBrowser(gateway)
            for asset in Asset.all {
                let reply = try await browser.get(asset.path)
                #expect(reply.status == 200 && reply.header("etag") == asset.tag)
                // A proxy that compresses makes a tag weak.
                for tag in [asset.tag, "\"x\", W/\(asset.tag)"] {
                    let again = try await browser.get(asset.path, headers: [("If-None-Match", tag)])
                    #expect(again.status == 304 && again.text.isEmpty)
                }
            }
            #expect(try await browser.get("/console/assets/other.js").status == 404)
        }
    }

    @Test func `a page says what is wrong when Redis does not answer`() async throws {
        try await GatewayFixture.run(patience: .seconds(1)) { gateway in
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            gateway.server.stop()
            let reply = try await browser.get("/console/names")
            #expect(reply.status == 503 && reply.text.contains("Redis does not answer"))
        }
    }
}
