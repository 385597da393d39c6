import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing
import Threads

@testable import HTTPAPI
@testable import Store

/// What becomes of a proposal that somebody approves, and of one that nobody decides about.
@Suite struct ApprovedPublishingTests {
    private typealias Desk = ApprovalDesk

    // MARK: Checks at the approval

    @Test func `what a schema refuses by now is not approved, and can be edited`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            let schema = #"{"content_state":{"type":"object","properties":{"n":{"type":"string"}}}}"#
            #expect(try await desk.send("PUT", "/api/schemas/T", schema).status == 200)
            #expect(try await desk.send("PUT", "/api/activities/match-1", #"{"attributes_type":"T"}"#).status == 200)
            let refused = try await desk.decide("approve", id, desk.bob)
            #expect(refused.status == 409 && refused.text.contains("would be refused now"), "\(refused.text)")
            #expect(try await desk.proposal(id).state == "waiting", "nothing was decided")
            #expect(try await desk.send("DELETE", "/api/schemas/T").status == 204)
            #expect(try await desk.decide("approve", id, desk.bob).status == 200)
        }
    }

    @Test func `a push that is too large for tokens is not approved without its broadcast channel`() async throws {
        try await Desk.run { desk in
            let large = publishText(
                activity:
                    #"{"name":"match-1","event":"update","content_state":{"n":"\#(String(repeating: "x", count: 4_300))"}}"#
            )
            let put = try await desk.send("PUT", "/api/activities/match-1/broadcast", "{}")
            try #require(put.status == 202, "\(put.text)")
            let keys = desk.gateway.store.keys
            let (app, name) = (try desk.gateway.app, try ActivityName("match-1"))
            let asked = try await desk.send("POST", "/api/push", large, desk.ann)
            try #require(asked.status == 202, "\(asked.text)")
            try await desk.gateway.store.redis.run("DEL", keys.broadcast(keys.tag(app, name)))
            let refused = try await desk.decide("approve", asked.string("held_id"), desk.bob)
            #expect(refused.status == 409 && refused.text.contains("4096"), "\(refused.text)")
            #expect(try await desk.sent() == 0)
        }
    }

    @Test func `what is refused for good is failed, and says why to the same person again`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            // Somebody ends the name meanwhile, and a name that has ended takes no second end.
            let update = try await desk.send("POST", "/api/push", Desk.push("update"), desk.ann).string("held_id")
            #expect(try await desk.decide("approve", id, desk.bob).status == 200)
            let refused = try await desk.decide("approve", update, desk.bob)
            #expect(refused.status == 409 && refused.text.contains("is closed by an end"), "\(refused.text)")
            let shown = try await desk.send("GET", "/api/proposals/\(update)", nil, desk.ann)
            #expect(try shown.string("state") == "failed" && shown.string("reason").contains("is closed"))
            #expect(try await desk.decide("approve", update, desk.bob).status == 409)
            #expect(try await desk.sent() == 1)
        }
    }

    // MARK: A gateway that dies

    @Test func `a gateway that dies between the decision and the publish loses nothing`() async throws {
        try await Desk.run { desk in
            let (app, proposals) = (try desk.gateway.app, desk.gateway.store.proposals)
            func approved() async throws -> String {
                let id = try await desk.ask("match-\(UInt16.random(in: 1...9_999))")
                let own = try #require(PushID(id))
                let found = try #require(try await proposals.find(app, own))
                let bob = Proposal.Person(identity: "bob", publisher: Publisher(credential: "bob", address: "::1"))
                let result = try await proposals.decide(
                    app, found, approves: true, request: found.request, by: bob, now: testNow)
                guard case .decided = result else { throw NeverHappened(description: "not approved") }
                #expect(try await desk.proposal(id).state == "approved")
                return id
            }
            let first = try await approved()
            #expect(try await desk.send("GET", "/api/push/\(first)").status == 404)
            // The gateway that decided may be at it still.
            try await desk.sweep()
            #expect(try await desk.proposal(first).state == "approved")
            for _ in 0..<2 { try await desk.sweep(at: testNow + Proposals.patience) }
            #expect(try await desk.proposal(first).state == "published")
            #expect(try await desk.send("GET", "/api/push/\(first)").string("state") == "queued")
            #expect(try await desk.sent() == 1)
            // It dies after the publish, before it has written that: the same push is accepted again.
            let second = try await approved()
            let parts = desk.gateway.gateway.live.current.parts
            let own = try #require(PushID(second))
            let found = try #require(try await proposals.find(app, own))
            let publishing = ApprovedPublishing(
                parts: parts, app: try #require(parts.configuration.apps.first), operation: "x", now: testNow)
            async let one = publishing.finish(found)
            async let other = publishing.finish(found)
            let states = try await [one.state, other.state]
            #expect(states == [.published, .published])
            #expect(try await desk.sent() == 2)
        }
    }

    @Test func `a proposal that nobody decides about lapses, and the log of actions tells whose`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            try await desk.sweep(at: testNow + 3_599_999)
            #expect(try await desk.proposal(id).state == "waiting")
            for _ in 0..<2 { try await desk.sweep(at: testNow + 3_600_000) }
            #expect(try await desk.proposal(id).state == "lapsed")
            let log = try await ActionTests.actions(desk.gateway, "?action=lapse")
            #expect(try log.map { try $0.required("credential").string() } == ["ann"])
            #expect(try log[0].required("entry").string() == id && log[0].required("name").string() == "match-1")
            let late = try await desk.decide("approve", id, desk.bob)
            #expect(late.status == 409 && late.text.contains("has lapsed"), "\(late.text)")
            let over = try await desk.send("GET", "/api/proposals?state=over", nil, desk.ann)
            #expect(try over.integer("total") == 1 && over.text.contains(#""state":"lapsed""#), "\(over.text)")
        }
    }
}

extension ActionWordsTests {
    static let approval: [(String, String)] = [
        ("PUT /api/proposals/{proposal_id}", "edit_proposal"),
        ("DELETE /api/proposals/{proposal_id}", "withdraw"),
        ("POST /api/proposals/{proposal_id}/approve", "approve"),
        ("POST /api/proposals/{proposal_id}/reject", "reject"),
    ]
}

extension ConsoleFuzzTests {
    static let approval = ("/console/proposals/{proposal}", Form(fields: ["request", "to", "reason"]))
}

extension ChangingCall {
    static let approval: [ChangingCall] = [
        ChangingCall("POST /api/proposals/{proposal_id}/approve") { fixture, number in
            let proposal = try await fixture.proposal("n\(number)")
            return PreparedCall(
                path: "/api/proposals/\(proposal.id)/approve", body: #"{"request":"\#(proposal.request)"}"#
            ) { try await fixture.pushes("n\(number)") }
        },
        ChangingCall("POST /api/proposals/{proposal_id}/reject") { fixture, number in
            let proposal = try await fixture.proposal("n\(number)")
            return PreparedCall(
                path: "/api/proposals/\(proposal.id)/reject", body: #"{"request":"\#(proposal.request)"}"#
            ) { (try await fixture.store.proposals.find(fixture.app, proposal.id)?.state == .rejected).part }
        },
        ChangingCall("DELETE /api/proposals/{proposal_id}") { fixture, number in
            let proposal = try await fixture.proposal("n\(number)")
            return PreparedCall(path: "/api/proposals/\(proposal.id)") {
                (try await fixture.store.proposals.find(fixture.app, proposal.id)?.state == .withdrawn).part
            }
        },
        // The edit makes another request, so the one that was seen is an old one then.
        ChangingCall("PUT /api/proposals/{proposal_id}", repeated: [409]) { fixture, number in
            let proposal = try await fixture.proposal("n\(number)")
            let body = #"{"request":"\#(proposal.request)","body":\#(AnswersFixture.push("m\(number)", event: "end"))}"#
            return PreparedCall(path: "/api/proposals/\(proposal.id)", body: body) {
                let found = try await fixture.store.proposals.find(fixture.app, proposal.id)
                return (found?.names.map(\.rawValue) == ["m\(number)"]).part
            }
        },
    ]
}

extension AnswersFixture {
    /// A proposal of another person.
    fileprivate func proposal(_ name: String) async throws -> Proposal {
        let id = PushID.random()
        let proposal = Proposal(
            id: id, kind: .publish, pushIDs: [id], names: [try ActivityName(name)],
            body: Array(Self.push(name, event: "end").utf8),
            asker: Proposal.Person(identity: "another", publisher: Publisher(credential: "ann", address: "::1")),
            // The record has to outlive the real date.
            askedAt: testNow, lapses: testNow + 3_650 * 86_400_000)
        _ = try await store.proposals.keep(try app, proposal)
        return proposal
    }
}
