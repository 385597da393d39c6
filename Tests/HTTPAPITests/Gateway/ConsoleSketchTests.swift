import Curl
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Sketches and test devices: their calls, and Compose with them.
@Suite struct ConsoleSketchTests {
    private static let sketch = #"{"card":{"text":"{home} to {away}","size":"large"}}"#

    @Test func `a sketch of a type draws its cards in Compose and on the pages of pushes and names`() async throws {
        try await GatewayFixture.run { gateway in
            let refused = try await gateway.send("PUT", "/api/sketches/Match", #"{"card":{"text":"{home"}}"#)
            #expect(refused.status == 400 && refused.text.contains("card.text: has a { without its }"))
            let large = String(repeating: " ", count: Sketch.maximumBytes)
            #expect(try await gateway.send("PUT", "/api/sketches/Match", Self.sketch + large).status == 413)
            #expect(try await gateway.send("GET", "/api/sketches/Match").status == 404)
            #expect(try await gateway.send("PUT", "/api/sketches/Match", Self.sketch).status == 200)
            #expect(try await gateway.send("GET", "/api/sketches/Match").text == Self.sketch)
            let list = try await gateway.send("GET", "/api/sketches").text
            #expect(list == #"{"ok":true,"sketches":[{"attributes_type":"Match"}]}"#)
            try await gateway.follow("match-42")
            let type = #"{"attributes_type":"Match"}"#
            #expect(try await gateway.send("PUT", "/api/activities/match-42", type).status == 200)
            let push = try await gateway.send(
                "POST", "/api/push",
                publishText(
                    activity: #"{"name":"match-42","event":"update","content_state":{"home":"Reds","away":"Blues"}}"#))
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            for path in [
                "/console/compose?name=match-42", "/console/names/match-42",
                "/console/pushes/\(try push.strings("push_ids")[0])",
            ] {
                let page = try await browser.get(path).text
                #expect(page.contains(#"<span class="s-text s-large">Reds to Blues</span>"#), "\(path): \(page)")
            }
            #expect(try await gateway.send("DELETE", "/api/sketches/Match").status == 204)
            let plain = try await browser.get("/console/names/match-42").text
            #expect(!plain.contains("s-text") && plain.contains("lock-main"))
        }
    }

    @Test func `the page of sketches shows a mistake with its place, previews, keeps and removes`() async throws {
        try await GatewayFixture.run { gateway in
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let token = try await browser.formToken()
            let wrong = try await browser.post(
                "/console/sketches", ["csrf": token, "type": "Match", "do": "save", "sketch": "{\n\"card\":1}"])
            #expect(wrong.status == 422 && wrong.text.contains("(line 2, column 8)"), "\(wrong.text)")
            let shown = try await browser.post(
                "/console/sketches",
                [
                    "csrf": token, "type": "Match", "do": "preview", "sketch": Self.sketch,
                    "state": #"{"home":"A","away":"B"}"#,
                ])
            #expect(shown.status == 200 && shown.text.contains(">A to B<"), "\(shown.text)")
            #expect(try await gateway.store.sketches.all(try gateway.app).isEmpty, "a preview keeps nothing")
            let kept = try await browser.post(
                "/console/sketches", ["csrf": token, "type": "Match", "do": "save", "sketch": Self.sketch])
            #expect(kept.header("location") == "/console/sketches?type=Match&notice=sketch-kept")
            #expect(try await browser.get("/console/sketches").text.contains("/console/sketches?type=Match"))
            let gone = try await browser.post(
                "/console/sketches", ["csrf": token, "type": "Match", "do": "remove", "confirmed": "yes"])
            #expect(gone.status == 303)
            #expect(try await gateway.store.sketches.all(try gateway.app).isEmpty)
        }
    }

    @Test func `the form goes to one test device, with its trace, and the draft stays`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["phone", "other"] {
                let path = "/api/activities/match-42/channels/\(channel)"
                #expect(try await gateway.send("PUT", path, #"{"token":"aabb"}"#).status == 200)
            }
            let path = "/api/test-devices/Anna's%20phone"
            #expect(try await gateway.send("PUT", path, #"{"channel_id":"phone"}"#).status == 200)
            let list = try await gateway.send("GET", "/api/test-devices").text
            #expect(list == #"{"ok":true,"test_devices":[{"name":"Anna's phone","channel_id":"phone"}]}"#)
            var browser = ConsoleBrowser(gateway)
            _ = try await browser.signIn()
            let token = try await browser.formToken()
            #expect(try await browser.get("/console/compose").text.contains("Send to Anna&#39;s phone"))
            let sent = try await browser.submit(
                "/console/compose",
                [
                    "csrf": token, "name": "match-42", "event": "update", "audience": "all", "state": #"{"home":7}"#,
                    "send_at": "2026-11-21T19:00", "test_device": "Anna's phone",
                ])
            #expect(sent.status == 200 && sent.text.contains("Sent to the test device"), "\(sent.text)")
            #expect(sent.text.contains("&quot;home&quot;:7"), "the draft stays")
            #expect(sent.text.contains("/console/devices/phone?name=match-42"))
            let pushes = try await gateway.send("GET", "/api/pushes").object.required("pushes").array()
            #expect(pushes.count == 1)
            let id = try pushes[0].object().required("push_id").string()
            let content = try await gateway.send("GET", "/api/push/\(id)/content").text
            #expect(content.contains(#""audience":{"ios_channel":"phone"}"#), "\(content)")
            #expect(try await gateway.send("GET", "/api/push/\(id)/trace").text.contains(#""channel_id":"phone""#))
            let unknown = try await browser.submit(
                "/console/compose",
                ["csrf": token, "name": "match-42", "event": "update", "state": "{}", "test_device": "Bob"])
            #expect(unknown.text.contains("The test device Bob was removed meanwhile."), "\(unknown.text)")
            #expect(try await gateway.send("DELETE", path).status == 204)
            #expect(try await gateway.send("DELETE", path).status == 404)
        }
    }

    @Test func `an app has a bounded number of test devices`() async throws {
        try await GatewayFixture.run { gateway in
            for number in 0..<50 {
                let reply = try await gateway.send("PUT", "/api/test-devices/t\(number)", #"{"channel_id":"c"}"#)
                #expect(reply.status == 200)
            }
            #expect(try await gateway.send("PUT", "/api/test-devices/t50", #"{"channel_id":"c"}"#).status == 409)
            #expect(try await gateway.send("PUT", "/api/test-devices/t7", #"{"channel_id":"d"}"#).status == 200)
        }
    }
}
