import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// Test devices: their calls, and Compose with them.
@Suite struct TestDeviceTests {
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
            #expect(content.contains(#""audience":{"channel":"phone"}"#), "\(content)")
            #expect(try await gateway.send("GET", "/api/push/\(id)/trace").text.contains(#""channel_id":"phone""#))
            let unknown = try await browser.submit(
                "/console/compose",
                ["csrf": token, "name": "match-42", "event": "update", "state": "{}", "test_device": "Bob"])
            #expect(unknown.text.contains("The test device Bob was removed meanwhile."), "\(unknown.text)")
            #expect(try await gateway.send("DELETE", path).status == 204)
            #expect(try await gateway.send("DELETE", path).status == 404)
        }
    }

    @Test(arguments: [Set([Platform.android]), Set([Platform.ios, .android])])
    func `the form goes to a test device on Android`(platforms: Set<Platform>) async throws {
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = platforms }) { gateway in
            let address = "fMEpW9-8T6:APA91b" + String(repeating: "x", count: 130)
            let followed = try await gateway.send(
                "PUT", "/api/activities/match-42/channels/robot", #"{"platform":"android","token":"\#(address)"}"#)
            #expect(followed.status == 200, "\(followed.text)")
            let kept = try await gateway.send("PUT", "/api/test-devices/Robot", #"{"channel_id":"robot"}"#)
            #expect(kept.status == 200, "\(kept.text)")
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            func send(_ chosen: String) async throws -> Reply {
                try await browser.submit(
                    "/console/compose",
                    [
                        "csrf": token, "name": "match-42", "event": "update", "audience": "all", "platforms": chosen,
                        "state": #"{"home":7}"#, "test_device": "Robot",
                    ])
            }
            func pushes() async throws -> [JSONValue] {
                try await gateway.send("GET", "/api/pushes").object.required("pushes").array()
            }
            if platforms.count > 1 {
                let text = try await send("ios").text
                #expect(text.contains("Platforms: leaves out the test device, which is on Android"), "\(text)")
                #expect(try await pushes().isEmpty)
            }
            let sent = try await send(platforms.count > 1 ? "ios,android" : "")
            #expect(sent.status == 200 && sent.text.contains("Sent to the test device"), "\(sent.text)")
            let made = try await pushes()
            try #require(made.count == 1)
            let id = try made[0].object().required("push_id").string()
            let push = try #require(PushID(id))
            let ledger = try await gateway.store.pushes.ledger(try gateway.app, push)
            #expect(ledger?.platforms.contains(.android) == true)
            #expect(try await gateway.send("GET", "/api/push/\(id)/content").text.contains(#"{"channel":"robot"}"#))
            #expect(try await gateway.send("GET", "/api/push/\(id)/trace").text.contains(#""channel_id":"robot""#))
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

extension ChangingCall {
    static let testDevices: [ChangingCall] = [
        ChangingCall("PUT /api/test-devices/{test_device}") { fixture, number in
            PreparedCall(path: "/api/test-devices/t\(number)", body: #"{"channel_id":"c"}"#) {
                (try await fixture.store.testDevices.find(fixture.app, "t\(number)") != nil).part
            }
        },
        ChangingCall("DELETE /api/test-devices/{test_device}", repeated: [404]) { fixture, number in
            try await fixture.send("PUT", "/api/test-devices/t\(number)", #"{"channel_id":"c"}"#)
            return PreparedCall(path: "/api/test-devices/t\(number)") {
                (try await fixture.store.testDevices.find(fixture.app, "t\(number)") == nil).part
            }
        },
    ]
}

extension ActionWordsTests {
    static let testDevices = [
        ("PUT /api/test-devices/{test_device}", "set_test_device"),
        ("DELETE /api/test-devices/{test_device}", "delete_test_device"),
    ]
}

extension ConsoleFuzzTests {
    static let testDevices = ("/console/test-devices", Form(fields: ["device_name", "channel", "to"]))
}
