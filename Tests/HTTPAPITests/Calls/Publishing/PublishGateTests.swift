import LiveActivity
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// A gate that holds what callers publish. It is the test's own.
@Suite struct PublishGateTests {
    /// What the gate was given.
    private final class Kept: Sendable {
        let attempts = Mutex<[PublishAttempt]>([])
        let isOpen = Mutex(false)
    }

    private static func gate(_ kept: Kept) -> PublishGate {
        PublishGate(
            word: "weather", action: .publish,
            holds: { pushes, _, _ in pushes.contains { $0.publish.event == .end } },
            keep: { attempt, _, _ in
                kept.attempts.withLock { $0.append(attempt) }
                return kept.isOpen.withLock { $0 } ? nil : attempt.ids.first
            })
    }

    private static func push(_ event: String) -> String {
        publishText(activity: #"{"name":"match-1","event":"\#(event)","content_state":{"n":1}}"#)
    }

    private static func schedule(_ event: String) -> String {
        #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(push(event))}"#
    }

    @Test func `a gate holds a publish, a schedule and a replacement, and a dry run names it`() async throws {
        let kept = Kept()
        try await GatewayFixture.run(configure: { $0.gates = [Self.gate(kept)] }) { gateway in
            try await gateway.follow("match-1")
            let preview = try await gateway.send("POST", "/api/push/validate", Self.push("end"))
            #expect(preview.text.contains(#""held":"weather""#), "\(preview.text)")
            let both = "[\(Self.push("update")),\(Self.push("end"))]"
            let held = try await gateway.send("POST", "/api/push", both)
            let ids = try held.strings("push_ids")
            #expect(try held.status == 202 && held.string("held") == "weather" && held.string("held_id") == ids[0])
            #expect(try await gateway.send("GET", "/api/push/\(ids[0])").status == 404, "nothing is accepted")
            let made = try await gateway.send("POST", "/api/schedules", Self.schedule("end"))
            #expect(try made.status == 201 && made.string("held") == "weather", "\(made.text)")
            #expect(try await gateway.send("GET", "/api/schedules").integer("total_count") == 0)
            let other = try await gateway.send("POST", "/api/schedules", Self.schedule("update"))
            #expect(other.status == 201 && !other.text.contains("held"), "\(other.text)")
            let id = try other.strings("schedule_ids")[0]
            let replaced = try await gateway.send("PUT", "/api/schedules/\(id)", Self.schedule("end"))
            #expect(try replaced.status == 200 && replaced.string("held") == "weather", "\(replaced.text)")
            #expect(try await gateway.send("GET", "/api/schedules/\(id)").text.contains(#""event":"update""#))
            let kinds = kept.attempts.withLock { $0.map(\.kind) }
            #expect(kinds == [.publish, .schedule, .replacement])
        }
    }

    @Test func `a gate is not asked about what checks refuse, and a repetition that it let go is accepted`()
        async throws
    {
        let kept = Kept()
        try await GatewayFixture.run(configure: { $0.gates = [Self.gate(kept)] }) { gateway in
            try await gateway.follow("match-1")
            let state = #"{"type":"object","properties":{"n":{"type":"string"}}}"#
            let schema = #"{"content_state":\#(state),"names":["match-*"]}"#
            #expect(try await gateway.send("PUT", "/api/schemas/T", schema).status == 200)
            let refused = try await gateway.send("POST", "/api/push", Self.push("end"))
            #expect(refused.status == 400, "\(refused.text)")
            #expect(try await gateway.send("DELETE", "/api/schemas/T").status == 204)
            let count = kept.attempts.withLock { $0.count }
            #expect(count == 0)
            let key = [("Idempotency-Key", "k")]
            let held = try await gateway.send("POST", "/api/push", Self.push("end"), headers: key)
            #expect(try held.string("held") == "weather")
            kept.isOpen.withLock { $0 = true }
            let again = try await gateway.send("POST", "/api/push", Self.push("end"), headers: key)
            #expect(again.status == 202 && !again.text.contains("held"), "\(again.text)")
            #expect(try again.strings("push_ids") == held.strings("push_ids"))
        }
    }
}
