import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// `options.trace` and `GET /api/push/{id}/trace`.
@Suite struct TraceTests {
    private let activity = #"{"name":"a","event":"update","content_state":{}}"#

    @Test func `a publish traces a channel, and its trace is shown`() async throws {
        try await GatewayFixture.run { gateway in
            let publish = publishText(activity: activity, tail: #","options":{"trace":"device-1"}"#)
            let id = try await gateway.publish(publish).strings("push_ids")[0]
            let path = "/api/push/\(id)/trace"
            let empty = try await gateway.send("GET", path)
            #expect(
                empty.golden
                    == #"{"push_id":"<uuid>","name":"a","channel_id":"device-1","state":"queued","total":0,"exchanges":[]}"#
            )
            let push = try #require(PushID(id))
            try await gateway.store.traces.add(
                try gateway.app, ActivityName("a"), push, [Array(#"{"attempt":1,"status":200}"#.utf8)])
            let full = try await gateway.send("GET", path)
            #expect(full.text.contains(#""total":1,"exchanges":[{"attempt":1,"status":200}]"#))
            #expect(try await gateway.send("GET", path, user: "other-app:other-m").status == 404)
            let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"
            #expect(try await gateway.send("GET", path, user: app).status == 401)
        }
    }

    @Test func `a push that is not traced, and one that is not there, say so`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await gateway.publish(publishText(activity: activity)).strings("push_ids")[0]
            let plain = try await gateway.send("GET", "/api/push/\(id)/trace")
            #expect(plain.status == 404 && plain.text.contains("published without options.trace"))
            let unknown = try await gateway.send("GET", "/api/push/019a1b6e-b16a-7c58-b78d-181d5e242078/trace")
            #expect(unknown.status == 404 && unknown.text.contains("no push of that id"))
            let push = publishText(activity: activity, tail: #","options":{"trace":"device-1"}"#)
            let schedule = #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(push)}"#
            let waiting = try await gateway.send("POST", "/api/schedules", schedule).strings("schedule_ids")[0]
            let early = try await gateway.send("GET", "/api/push/\(waiting)/trace")
            #expect(early.status == 404 && early.text.contains("waits for its time"), "\(early.text)")
        }
    }

    @Test(arguments: [#"7"#, #""""#, #"["a"]"#, "true"])
    func `a channel that is none is refused, and nothing is published`(trace: String) async throws {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.publish(
                publishText(activity: activity, tail: #","options":{"trace":\#(trace)}"#))
            #expect(reply.status == 400 && reply.text.contains("options.trace"), "\(reply.text)")
            #expect(try await gateway.send("GET", "/api/pushes").integer("total") == 0)
        }
    }
}
