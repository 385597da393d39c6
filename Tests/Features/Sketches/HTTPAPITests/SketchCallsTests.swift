import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Sketches: their calls, their page, and pages with them.
@Suite struct SketchCallsTests {
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
            for path in ["/console/names/match-42", "/console/pushes/\(try push.strings("push_ids")[0])"] {
                let page = try await browser.get(path).text
                #expect(page.contains(#"<span class="s-text s-large">Reds to Blues</span>"#), "\(path): \(page)")
            }
            // The schema alone says of which type the cards of a name are.
            let schema = #"{"names":["order-*"],"content_state":{"type":"object"}}"#
            #expect(try await gateway.send("PUT", "/api/schemas/Match", schema).status == 200)
            let other = try await gateway.publish(
                publishText(
                    activity: #"{"name":"order-7","event":"update","content_state":{"home":"Reds","away":"Blues"}}"#))
            for path in ["/console/names/order-7", "/console/pushes/\(try other.strings("push_ids")[0])"] {
                #expect(try await browser.get(path).text.contains("Reds to Blues"), "\(path)")
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

    @Test func `a credential for some names reads sketches`() async throws {
        try await GatewayFixture.run { gateway in
            #expect(try await gateway.send("PUT", "/api/sketches/Match", Self.sketch).status == 200)
            let secret = try await CredentialTests.create(
                gateway, #"{"id":"m","scopes":["publish","read","operate"],"name_prefix":"match-"}"#)
            func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Reply {
                try await gateway.send(method, path, body, user: "\(GatewayFixture.key):\(secret)")
            }
            #expect(try await send("GET", "/api/sketches").text.contains("Match"))
            #expect(try await send("GET", "/api/sketches/Match").status == 200)
            for (method, body) in [("PUT", "{}"), ("DELETE", nil)] {
                #expect(try await send(method, "/api/sketches/Match", body).status == 403)
            }
        }
    }
}

extension ChangingCall {
    static let sketches: [ChangingCall] = [
        ChangingCall("PUT /api/sketches/{attributes_type}") { fixture, number in
            PreparedCall(path: "/api/sketches/T\(number)", body: #"{"card":{"text":"{home}"}}"#) {
                (try await fixture.store.sketches.find(fixture.app, "T\(number)") != nil).part
            }
        },
        ChangingCall("DELETE /api/sketches/{attributes_type}", repeated: [404]) { fixture, number in
            try await fixture.send("PUT", "/api/sketches/T\(number)", #"{"card":{"text":"{home}"}}"#)
            return PreparedCall(path: "/api/sketches/T\(number)") {
                (try await fixture.store.sketches.find(fixture.app, "T\(number)") == nil).part
            }
        },
    ]
}

extension ActionWordsTests {
    static let sketches = [
        ("PUT /api/sketches/{attributes_type}", "set_sketch"),
        ("DELETE /api/sketches/{attributes_type}", "delete_sketch"),
    ]
}

extension ConsoleFuzzTests {
    static let sketches = (
        "/console/sketches",
        Form(
            fields: ["type", "sketch", "state", "do", "confirmed"],
            bases: [[("type", "T"), ("do", "preview")], [("sketch", #"{"card":{"timer":"{progress}"}}"#)]])
    )
}
