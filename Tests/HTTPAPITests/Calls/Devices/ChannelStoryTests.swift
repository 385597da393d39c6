import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// A support person asks for a device.
@Suite struct ChannelStoryTests {
    private static let token = String(repeating: "0123456789abcdef", count: 10)

    @Test func `a channel shows what it follows, its tags and its user`() async throws {
        try await GatewayFixture.run { gateway in
            let channel =
                #"{"device_type":"ios","device_os":"18.1","set_tags":true,"tags":["b","a"],"named_user_id":"ann"}"#
            _ = try await gateway.send("PUT", "/api/channels/device-1", #"{"channel":\#(channel)}"#)
            for place in ["activities/order-1", "activities/match-42", "start-tokens/T"] {
                let reply = try await gateway.send(
                    "PUT", "/api/\(place)/channels/device-1", #"{"token":"\#(Self.token)"}"#)
                #expect(reply.status == 200)
            }
            let reply = try await gateway.send("GET", "/api/channels/device-1")
            #expect(reply.status == 200 && !reply.text.contains(Self.token), "no whole token")
            let shown = try reply.object.required("channel").object()
            #expect(try shown.required("channel_id").string() == "device-1" && shown.required("opt_in").bool())
            #expect(try shown.required("named_user_id").string() == "ann" && shown.required("ios_18").bool())
            #expect(try shown.required("tags").array().map { try $0.string() } == ["a", "b"])
            let names = try shown.required("live_activities").array().map { try $0.object() }
            #expect(try names.map { try $0.required("name").string() } == ["match-42", "order-1"])
            #expect(try names.allSatisfy { try $0.required("state").string() == "following" })
            #expect(try names[0].required("token").string() == "01234567…")
            let types = try shown.required("start_tokens").array().map { try $0.object() }
            #expect(try types.map { try $0.required("attributes_type").string() } == ["T"])
        }
    }

    @Test func `a channel that only follows is known, and so is what it left`() async throws {
        try await GatewayFixture.run { gateway in
            let unknown = try await gateway.send("GET", "/api/channels/c")
            #expect(try unknown.status == 404 && unknown.integer("error_code") == 40401)
            try await gateway.follow("order-1")
            let reply = try await gateway.send("GET", "/api/channels/c")
            #expect(reply.status == 200 && !reply.text.contains("created"))
            _ = try await gateway.send("DELETE", "/api/activities/order-1/channels/c")
            let gone = try await gateway.send("GET", "/api/channels/c")
            let former = try gone.object.required("channel").object().required("former").array().map { try $0.object() }
            #expect(try former.map { try $0.required("name").string() } == ["order-1"])
            #expect(try former.map { try $0.required("state").string() } == ["left"])
            #expect(gone.text.contains(#""opt_in":false"#) && gone.text.contains(#""live_activities":[]"#))
            _ = try await gateway.send("POST", "/api/channels/uninstall", #"[{"channel_id":"c","device_type":"ios"}]"#)
            #expect(try await gateway.send("GET", "/api/channels/c").status == 404, "nothing of a forgotten channel")
        }
    }

    @Test func `support asks why a card does not move`() async throws {
        try await GatewayFixture.run { gateway in
            func codes() async throws -> (gets: Bool, codes: [String]) {
                let reply = try await gateway.send("GET", "/api/activities/order-1/channels/c")
                #expect(reply.status == 200)
                let reasons = try reply.object.required("reasons").array().map { try $0.object() }
                return (
                    try reply.object.required("gets_next_update").bool(),
                    try reasons.map { try $0.required("code").string() }
                )
            }
            #expect(try await codes() == (false, ["unknown", "no_worker"]))
            try await gateway.beat()
            #expect(try await codes() == (false, ["unknown"]))
            try await gateway.follow("order-1")
            #expect(try await codes() == (true, []))
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"order-1","event":"end","content_state":{}}"#))
            #expect(try await codes() == (false, ["name_ended"]))
            _ = try await gateway.send("DELETE", "/api/activities/order-1/channels/c")
            #expect(try await codes() == (false, ["left", "name_ended"]))
        }
    }

    @Test func `only the master secret sees a channel`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("order-1")
            for user in ["\(GatewayFixture.key):\(GatewayFixture.secret)", "other-app:other-m"] {
                let reply = try await gateway.send("GET", "/api/channels/c", user: user)
                #expect([401, 403, 404].contains(reply.status), "\(user)")
            }
        }
    }
}
