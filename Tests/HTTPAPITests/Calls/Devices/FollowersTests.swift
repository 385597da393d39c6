import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// All followers of a name at once: copied, and removed.
@Suite struct FollowersTests {
    @Test func `what is copied from one name can be registered under another`() async throws {
        try await GatewayFixture.run { gateway in
            let lines = (0..<40).map { number in
                #"{"channel":"c-\#(number)","token":"\#(String(number + 4_096, radix: 16))","frequent_pushes_enabled":\#(number != 3)}"#
            }
            let path = "/api/activities/a/channels"
            #expect(try await gateway.send("POST", path, lines.joined(separator: "\n")).status == 200)
            var (copied, after) = ([JSONValue](), "0")
            while true {
                let reply = try await gateway.send("GET", "\(path)?limit=7&after=\(after)")
                copied += try reply.object.required("channels").array()
                guard let next = try reply.object["next"]?.string() else { break }
                after = next
            }
            #expect(copied.count == 40)
            let body = copied.map { String(decoding: $0.raw, as: UTF8.self) }.joined(separator: "\n")
            let again = try await gateway.send("POST", "/api/activities/b/channels", body)
            #expect(try again.integer("accepted") == 40 && again.integer("rejected_count") == 0)
            let one = try await gateway.send("GET", "/api/activities/b/channels/c-3")
            #expect(one.text.contains("infrequent"))
        }
    }

    @Test func `a copy has the addresses of silent and of quarantined phones`() async throws {
        let configure: (inout GatewayConfiguration) -> Void = {
            $0.apps[0].platforms = [.android]
            $0.apps[1].platforms = [.android]
        }
        try await GatewayFixture.run(configure: configure) { gateway in
            let (path, store) = ("/api/activities/a/channels", gateway.store)
            func address(_ phone: String) -> String { "\(phone):APA91b" + String(repeating: "x", count: 130) }
            let phones = ["loud", "silent", "doubted"]
            let lines = phones.map { #"{"channel":"\#($0)","platform":"android","token":"\#(address($0))"}"# }
            #expect(try await gateway.send("POST", path, lines.joined(separator: "\n")).integer("accepted") == 3)
            let silent = try await gateway.send(
                "PUT", "/api/channels/silent",
                #"{"channel":{"device_type":"android","opt_in":false,"push_address":"\#(address("silent"))"}}"#,
                user: "\(GatewayFixture.key):\(GatewayFixture.secret)")
            #expect(silent.status == 200, "\(silent.text)")
            let mark = QuarantineMark(
                reason: "NOT_FOUND", since: testNow, token: try AndroidAddress(.token, address("doubted")).stored)
            let addresses = store.keys.tag(try gateway.app, TokenPlace.addresses(on: .android))
            let member = RedisArgument.bytes(try ChannelID("doubted").stored)
            try await store.redis.run("HSET", store.keys.quarantine(addresses), member, .bytes(mark.storedValue))
            for (phone, code) in [("silent", "notifications_off"), ("doubted", "quarantined")] {
                #expect(try await gateway.send("GET", "\(path)/\(phone)").text.contains(code), "\(phone)")
            }
            let copied = try await gateway.send("GET", path).object.required("channels").array()
            #expect(copied.count == 3)
            let body = copied.map { String(decoding: $0.raw, as: UTF8.self) }.joined(separator: "\n")
            for phone in phones { #expect(body.contains(address(phone)), "\(phone): \(body)") }
            let again = try await gateway.send("POST", path, body, user: "other-app:other-m")
            #expect(try again.integer("accepted") == 3 && again.integer("rejected_count") == 0, "\(again.text)")
        }
    }

    @Test func `all followers are removed, and a late older registration does not bring one back`() async throws {
        try await GatewayFixture.run { gateway in
            let path = "/api/activities/a/channels"
            let lines = (0..<300).map { #"{"channel":"c-\#($0)","token":"aa"}"# }
            #expect(try await gateway.send("POST", path, lines.joined(separator: "\n")).status == 200)
            let reply = try await gateway.send("DELETE", path)
            #expect(try reply.integer("removed") == 300 && reply.object.required("complete").bool())
            #expect(try await gateway.send("GET", path).text == #"{"ok":true,"channels":[]}"#)
            let late = try await gateway.send(
                "PUT", "\(path)/c-1", #"{"token":"aa","registered_at_ms":\#(testNow - 60_000)}"#)
            #expect(late.text.contains("stale"))
            #expect(try await gateway.send("PUT", "\(path)/c-1", #"{"token":"aa"}"#).text.contains("stored"))
        }
    }

    @Test func `start tokens are copied too, and bad positions are refused`() async throws {
        try await GatewayFixture.run { gateway in
            let path = "/api/start-tokens/T/channels"
            _ = try await gateway.send("PUT", "\(path)/c", #"{"token":"aa"}"#)
            let reply = try await gateway.send("GET", path)
            #expect(reply.text.contains(#""channel":"c","token":"aa""#))
            #expect(try await gateway.send("DELETE", path).integer("removed") == 1)
            for query in ["after=x", "after=-1", "limit=0", "limit=10001"] {
                #expect(try await gateway.send("GET", "\(path)?\(query)").status == 400, "\(query)")
            }
        }
    }
}
