import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// A dry run says whom a publish would reach and what it would send, and writes nothing.
@Suite struct DryRunTests {
    @Test func `it counts the tokens of the audience and shows the payload`() async throws {
        try await GatewayFixture.run { gateway in
            for channel in ["c1", "c2", "c3"] { try await register(gateway, "activities/match-1", channel) }
            try await gateway.store.channels.tag(
                try gateway.app, [try ChannelID("c1"), try ChannelID("c2")], vip)
            #expect(try await preview(gateway, publishText(activity: update)).integer("tokens") == 3)
            let some = try await preview(gateway, publishText(audience: #"{"tag":"vip"}"#, activity: update))
            #expect(try some.integer("tokens") == 2 && some.integer("broadcast_channels") == 0)
            let payload = try some.object.required("payload").raw
            #expect(try some.integer("payload_bytes") == payload.count && some.integer("payload_limit") == 4_096)
            let aps = try some.object.required("payload").object().required("aps").object()
            #expect(try aps.required("event").string() == "update")
            #expect(try aps.required("content-state").object()["n"] != nil)
            let seconds = try aps.required("timestamp").integer()
            #expect(seconds == testNow / 1_000, "the present time")
            let nobody = try await preview(gateway, publishText(activity: update.replacing("match-1", with: "nobody")))
            #expect(try nobody.integer("tokens") == 0)
        }
    }

    @Test func `it counts the start tokens of channels without a card of the name`() async throws {
        let start = #"""
            {"name":"match-1","event":"start","content_state":{},"alert":{"title":"t"},
            "attributes_type":"T","attributes":{}}
            """#
        try await GatewayFixture.run { gateway in
            for channel in ["c1", "c2", "c3"] { try await register(gateway, "start-tokens/T", channel) }
            try await register(gateway, "activities/match-1", "c1")
            #expect(try await preview(gateway, publishText(activity: start)).integer("start_tokens") == 2)
            let again = publishText(activity: start, tail: #","options":{"restart":true}"#)
            #expect(try await preview(gateway, again).integer("start_tokens") == 3)
        }
    }

    @Test func `it counts the broadcast channel of a push for everyone`() async throws {
        try await GatewayFixture.run { gateway in
            _ = try await gateway.send("PUT", "/api/activities/match-1/broadcast?wait=0", "{}")
            #expect(try await preview(gateway, publishText(activity: update)).integer("broadcast_channels") == 1)
            let some = publishText(audience: #"{"tag":"vip"}"#, activity: update)
            #expect(try await preview(gateway, some).integer("broadcast_channels") == 0)
        }
    }

    @Test func `what cannot be counted in time is said to be at least that much`() async throws {
        try await GatewayFixture.run { gateway in
            try await register(gateway, "activities/match-1", "c1")
            let publish = Publish(name: try ActivityName("match-1"), event: .update, audience: .all)
            let none = try await gateway.store.reach(try gateway.app, publish, until: .now)
            #expect(none == Reach(isComplete: false) && none.tokens == 0)
            let all = try await gateway.store.reach(try gateway.app, publish, until: .now + .seconds(600))
            #expect(all == Reach(byPlatform: [.ios: 1]))
        }
    }

    @Test func `each platform has its count and its message, and a push for iOS alone has no platforms`() async throws {
        let update = #"{"name":"match-1","event":"update","content_state":{"n":1}}"#
        func body(_ types: String, _ parts: [String]) -> String {
            #"{"audience":"all","device_types":\#(types),"notification":{\#(parts.joined(separator: ","))}}"#
        }
        let (ios, android) = (
            #""ios":{"live_activity":\#(update)}"#,
            #""android":{"live_update":\#(update.replacing("\"event\"", with: "\"type\":\"T\",\"event\"")),"delivery_priority":"high"}"#
        )
        try await GatewayFixture.run(configure: { $0.apps[0].platforms = [.ios, .android] }) { gateway in
            for channel in ["c1", "c2"] { try await register(gateway, "activities/match-1", channel) }
            for phone in ["p1", "p2", "p3"] {
                let address =
                    #"{"platform":"android","token":"\#(phone)-8T6:APA91b\#(String(repeating: "x", count: 120))"}"#
                let reply = try await gateway.send("PUT", "/api/activities/match-1/channels/\(phone)", address)
                #expect(reply.status == 200, "\(reply)")
            }
            let both = try await preview(gateway, body(#"["ios","android"]"#, [ios, android]))
            #expect(try both.integer("tokens") == 5)
            let platforms = try both.object.required("platforms").object()
            let (apple, google) = try (
                Preview(object: platforms.required("ios").object()),
                Preview(object: platforms.required("android").object())
            )
            #expect(try apple.integer("tokens") == 2 && google.integer("tokens") == 3)
            let payload = try both.object.required("payload").raw
            #expect(try apple.object.required("payload").raw.elementsEqual(payload))
            let message = try google.object.required("payload")
            let text = String(decoding: message.raw, as: UTF8.self)
            let data = try message.object().required("message").object().required("data").object()
            let live = try data.required("com.urbanairship.live_update").string()
            #expect(
                live
                    == #"{"name":"match-1","event":"update","type":"T","timestamp":\#(testNow / 1_000),"content_state":{"n":1}}"#
            )
            #expect(text.hasSuffix(#""android":{"priority":"high","ttl":"900s"}}}"#), "\(text)")
            #expect(!text.contains("PUSH_ID") && !text.contains("token"))
            let (bytes, limit) = try (google.integer("payload_bytes"), google.integer("payload_limit"))
            #expect((live.utf8.count + 300...live.utf8.count + 500).contains(bytes) && limit == 4_096, "\(bytes)")

            let alone = try await preview(gateway, body(#"["android"]"#, [android]))
            #expect(try alone.integer("tokens") == 3 && alone.integer("payload_bytes") == bytes)
            #expect(try alone.object.required("payload").raw.elementsEqual(message.raw))
            #expect(try alone.object.required("platforms").object().members.map(\.key) == ["android"])
            let plain = try await preview(gateway, body(#"["ios"]"#, [ios]))
            #expect(try plain.integer("tokens") == 2 && plain.object["platforms"] == nil)

            let begin = try await preview(
                gateway, body(#"["android"]"#, [android.replacing("update\",", with: "start\",")]))
            #expect(try begin.integer("start_tokens") == 0, "all of them follow already")
        }
    }

    private let update = #"{"name":"match-1","event":"update","content_state":{"n":1}}"#
    private var vip: TagChange {
        var change = TagChange()
        change.add = ["device": ["vip"]]
        return change
    }

    /// `place` is the path of a name or an attributes type.
    private func register(_ gateway: GatewayFixture, _ place: String, _ channel: String) async throws {
        let reply = try await gateway.send("PUT", "/api/\(place)/channels/\(channel)", #"{"token":"aa"}"#)
        #expect(reply.status == 200, "\(reply)")
    }

    private func preview(_ gateway: GatewayFixture, _ body: String) async throws -> Preview {
        let reply = try await gateway.send("POST", "/api/push/validate", body)
        #expect(reply.status == 200, "\(reply)")
        return Preview(object: try #require(try reply.object.required("pushes").array().first).object())
    }

    private struct Preview {
        let object: JSONObject
        func integer(_ key: String) throws -> Int { Int(try object.required(key).integer()) }
    }
}
