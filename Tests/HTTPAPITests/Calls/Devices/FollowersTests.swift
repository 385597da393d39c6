import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

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
