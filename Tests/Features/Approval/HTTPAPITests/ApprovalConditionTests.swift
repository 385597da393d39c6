import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Somebody publishes while a proposal waits: it is not approved over what its people have not seen.
@Suite struct ApprovalConditionTests {
    private typealias Desk = ApprovalDesk

    /// Proposes an update for those who have seen this push.
    private func ask(_ desk: Desk, after: String) async throws -> String {
        let push = publishText(
            activity: #"{"name":"match-1","event":"update","content_state":{"n":4}}"#,
            tail: #","options":{"after":"\#(after)"}"#)
        return try await desk.send("POST", "/api/push", push, desk.ann).string("held_id")
    }

    private func approve(_ desk: Desk, _ id: String, after: String? = nil) async throws -> Reply {
        let request = try await desk.proposal(id).request
        let more = after.map { #","after":"\#($0)""# } ?? ""
        return try await desk.send(
            "POST", "/api/proposals/\(id)/approve", #"{"request":"\#(request)"\#(more)}"#, desk.bob)
    }

    private func publish(_ desk: Desk) async throws -> String {
        try await desk.send("POST", "/api/push", Desk.push("update"), desk.feed).strings("push_ids")[0]
    }

    @Test func `an old proposal is not approved, unless the approver has seen what came since`() async throws {
        try await Desk.run { desk in
            let id = try await ask(desk, after: "none")
            let newer = try await publish(desk)
            let refused = try await approve(desk, id)
            #expect(refused.status == 409 && refused.text.contains("It would be refused now"), "\(refused.text)")
            #expect(try refused.integer("error_code") == 40904)
            let told = try refused.object.required("newest_push").object()
            #expect(try told.required("push_id").string() == newer)
            #expect(try told.required("by").object().required("credential").string() == "feed")
            #expect(try await desk.proposal(id).state == "waiting", "nothing was decided")
            #expect(try await approve(desk, id, after: "none").status == 409)
            let approved = try await approve(desk, id, after: newer)
            #expect(approved.status == 200, "\(approved.text)")
            #expect(try await desk.sent() == 2)
            #expect(try await approve(desk, id, after: newer).status == 200, "it may be repeated")
        }
    }

    @Test func `an approver may guard a proposal that has no condition`() async throws {
        try await Desk.run { desk in
            let id = try await desk.send("POST", "/api/push", Desk.push("update"), desk.ann).string("held_id")
            _ = try await publish(desk)
            #expect(try await approve(desk, id, after: "none").status == 409)
            #expect(try await approve(desk, id, after: "any").status == 200)
        }
    }

    /// Somebody publishes between the decision and the publish, and the gateway dies there.
    @Test func `a decided proposal that a push overtakes fails, and says why`() async throws {
        try await Desk.run { desk in
            let first = try await publish(desk)
            let id = try await ask(desk, after: "none")
            let (app, proposals) = (try desk.gateway.app, desk.gateway.store.proposals)
            let own = try #require(PushID(id))
            let found = try #require(try await proposals.find(app, own))
            let bob = Proposal.Person(identity: "bob", publisher: Publisher(credential: "bob", address: "::1"))
            let after = AfterPush(first)
            let result = try await proposals.decide(
                app, found, approves: true, request: found.request, after: after, by: bob, now: testNow)
            guard case .decided = result else { throw NeverHappened(description: "not approved") }
            _ = try await publish(desk)
            try await desk.sweep(at: testNow + Proposals.patience)
            let shown = try await desk.send("GET", "/api/proposals/\(id)")
            #expect(try shown.string("state") == "failed", "\(shown.text)")
            #expect(try shown.string("reason").contains("options.after: does not hold"))
            #expect(try await desk.sent() == 2)
        }
    }

    @Test func `a proposed schedule takes the approver's condition along`() async throws {
        try await Desk.run { desk in
            let asked = try await desk.send("POST", "/api/schedules", Desk.schedule("update"), desk.ann)
            let id = try asked.string("held_id")
            let seen = PushID.random().description
            #expect(try await approve(desk, id, after: seen).status == 200, "its condition is for its time")
            let made = try #require(PushID(try asked.strings("schedule_ids")[0]))
            let schedule = try await desk.gateway.store.schedules.find(desk.gateway.app, made)
            #expect(schedule?.publish.options.after == AfterPush(seen))
        }
    }

    @Test func `a condition is for one name`() async throws {
        try await Desk.run { desk in
            let both = "[\(Desk.push("update")),\(Desk.push("update", "match-2"))]"
            let id = try await desk.send("POST", "/api/push", both, desk.ann).string("held_id")
            for (after, words) in [("none", "of one name"), ("x", "must be a push id")] {
                let reply = try await approve(desk, id, after: after)
                #expect(reply.status == 400 && reply.text.contains(words), "\(reply.text)")
            }
        }
    }
}
