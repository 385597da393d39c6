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
            #expect(none == Reach(tokens: 0, isComplete: false))
            let all = try await gateway.store.reach(try gateway.app, publish, until: .now + .seconds(600))
            #expect(all == Reach(tokens: 1, isComplete: true))
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
