import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Publishes that wait for a second person: whose do, who decides, and what is refused.
@Suite struct ApprovalCallsTests {
    private typealias Desk = ApprovalDesk

    @Test func `a publish of one who proposes waits, and another one approves it`() async throws {
        try await Desk.run { desk in
            let asked = try await desk.send("POST", "/api/push", Desk.push("end"), desk.ann)
            #expect(asked.status == 202)
            #expect(
                asked.golden == #"{"ok":true,"operation_id":"<uuid>","push_ids":["<uuid>"],"message_ids":[],"#
                    + #""content_urls":[],"held":"approval","held_id":"<uuid>"}"#)
            let id = try asked.string("held_id")
            #expect(try asked.strings("push_ids") == [id])
            #expect(try await desk.sent() == 0)
            #expect(try await desk.send("GET", "/api/push/\(id)").status == 404, "there is no push yet")
            let list = try await desk.send("GET", "/api/proposals", nil, desk.bob)
            #expect(try list.integer("total") == 1 && list.text.contains(id))
            let shown = try await desk.send("GET", "/api/proposals/\(id)", nil, desk.bob)
            #expect(try shown.string("state") == "waiting" && shown.string("kind") == "publish")
            #expect(try shown.object.required("asked_by").object().required("credential").string() == "ann")
            #expect(try shown.string("lapses_at") == "2026-11-21T19:00:00.000Z")
            let own = try await desk.decide("approve", id, desk.ann)
            #expect(own.status == 403 && own.text.contains("another person with the scope approve"), "\(own.text)")
            #expect(try own.integer("error_code") == 40306)
            let approved = try await desk.decide("approve", id, desk.bob)
            #expect(approved.status == 200, "\(approved.text)")
            #expect(try approved.string("state") == "published")
            let ledger = try await desk.send("GET", "/api/push/\(id)")
            #expect(ledger.status == 200 && ledger.text.contains(#""by":{"credential":"ann""#), "\(ledger.text)")
            #expect(try await desk.decide("approve", id, desk.bob).status == 200, "it may be repeated")
            #expect(try await desk.sent() == 1)
            let late = try await desk.send("POST", "/api/proposals/\(id)/approve", #"{"request":"x"}"#)
            #expect(late.status == 409 && late.text.contains("was approved by the credential 'bob'"), "\(late.text)")
            let log = try await ActionTests.actions(desk.gateway, "?action=approve")
            #expect(try log.map { try $0.required("credential").string() } == ["bob", "bob"])
            #expect(try log[0].required("entry").string() == id && log[0].required("name").string() == "match-1")
            try await eventually("the log has the proposal") {
                try await ActionTests.actions(desk.gateway, "?action=propose").count == 1
            }
            #expect(try await ActionTests.actions(desk.gateway, "?action=publish").isEmpty)
        }
    }

    @Test func `each push of a proposal names both people, also one that waits for its time`() async throws {
        try await Desk.run { desk in
            let both = "[\(Desk.push("end")),\(Desk.push("end").replacing("match-1", with: "match-2"))]"
            let asked = try await desk.send("POST", "/api/push", both, desk.ann)
            let ids = try asked.strings("push_ids")
            #expect(ids.count == 2, "\(asked.text)")
            #expect(try await desk.decide("approve", asked.string("held_id"), desk.bob).status == 200)
            let planned = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), desk.ann)
            #expect(try await desk.decide("approve", planned.string("held_id"), desk.bob).status == 200)
            for id in try ids + planned.strings("schedule_ids") {
                let by = try await desk.send("GET", "/api/push/\(id)").object.object("by")
                #expect(by?.text("credential") == "ann" && by?.object("second")?.text("credential") == "bob", "\(id)")
            }
        }
    }

    @Test func `those with publish and the master secret publish as ever`() async throws {
        try await Desk.run { desk in
            for user in [desk.feed, Desk.master] {
                let reply = try await desk.send("POST", "/api/push", Desk.push("update"), user)
                #expect(reply.status == 202 && !reply.text.contains("held"), "\(reply.text)")
                let scheduled = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), user)
                #expect(scheduled.text.contains(#""state":"scheduled""#), "\(scheduled.text)")
            }
            #expect(try await desk.sent() == 2)
            let preview = try await desk.send("POST", "/api/push/validate", Desk.push("end"), desk.feed)
            #expect(preview.status == 200 && !preview.text.contains("held"))
        }
    }

    @Test func `the app's rule says which events wait, and all of one body do, as one proposal`() async throws {
        try await Desk.run(.ends) { desk in
            let update = try await desk.send("POST", "/api/push", Desk.push("update"), desk.ann)
            #expect(update.status == 202 && !update.text.contains("held"), "\(update.text)")
            #expect(try await desk.sent() == 1)
            let both = "[\(Desk.push("update")),\(Desk.push("end"))]"
            let preview = try await desk.send("POST", "/api/push/validate", both, desk.ann)
            #expect(preview.text.matches(of: #/"held":"approval"/#).count == 2, "\(preview.text)")
            let asked = try await desk.send("POST", "/api/push", both, desk.ann)
            #expect(asked.text.contains(#""held":"approval""#), "\(asked.text)")
            #expect(try await desk.sent() == 1)
            let list = try await desk.send("GET", "/api/proposals", nil, desk.bob)
            #expect(try list.integer("total") == 1)
            #expect(try await desk.decide("approve", asked.string("held_id"), desk.bob).status == 200)
            #expect(try await desk.sent() == 3)
        }
    }

    @Test func `a repeated request is one, and its key tells later that it went out`() async throws {
        try await Desk.run { desk in
            func ask() async throws -> Reply {
                try await desk.send("POST", "/api/push", Desk.push("end"), desk.ann, key: "k")
            }
            let id = try await ask().string("held_id")
            #expect(try await ask().string("held_id") == id)
            #expect(try await desk.send("GET", "/api/proposals").integer("total") == 1)
            #expect(try await desk.decide("approve", id, desk.bob).status == 200)
            let again = try await ask()
            #expect(try again.strings("push_ids") == [id] && !again.text.contains("held"), "\(again.text)")
            #expect(try await desk.sent() == 1)
            #expect(try await desk.proposal(id).state == "published", "the repetition asks for nothing new")
        }
    }

    @Test func `a repeated request is refused once it was rejected, withdrawn or has lapsed`() async throws {
        try await Desk.run { desk in
            for (key, words) in [
                ("r", "was rejected by the credential 'bob'"), ("w", "was withdrawn"), ("l", "has lapsed"),
            ] {
                let first = try await desk.send("POST", "/api/push", Desk.push("end"), desk.ann, key: key)
                let id = try first.string("held_id")
                switch key {
                case "r": #expect(try await desk.decide("reject", id, desk.bob).status == 200)
                case "w": #expect(try await desk.send("DELETE", "/api/proposals/\(id)", nil, desk.ann).status == 204)
                default: try await desk.sweep(at: testNow + 3_600_000)
                }
                let again = try await desk.send("POST", "/api/push", Desk.push("end"), desk.ann, key: key)
                #expect(again.status == 409 && again.text.contains(words), "\(again.text)")
                #expect(again.text.contains("never sent"), "\(again.text)")
            }
            #expect(try await desk.sent() == 0)
        }
    }

    @Test func `an approval names what its person has seen, and an edit asks anew`() async throws {
        try await Desk.run { desk in
            let made = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), desk.ann)
            #expect(try made.status == 201 && made.string("held") == "approval", "\(made.text)")
            let id = try made.string("held_id")
            let path = "/api/proposals/\(id)"
            let seen = try await desk.proposal(id).request
            for (body, problem) in [(nil, "request: is required"), ("{}", "request: is required")]
                as [(String?, String)]
            {
                let refused = try await desk.send("POST", "\(path)/approve", body, desk.bob)
                #expect(refused.status == 400 && refused.text.contains(problem), "\(refused.text)")
            }
            let later = Desk.schedule("end", at: "2026-11-21T20:00:00")
            let edited = try await desk.edit(id, later, desk.bob)
            #expect(try edited.status == 200 && edited.string("request") != seen, "\(edited.text)")
            #expect(try edited.string("lapses_at") == "2026-11-21T21:00:00.000Z")
            let blind = try await desk.edit(id, later, desk.ann, seen: seen)
            #expect(blind.status == 409 && blind.text.contains("was edited"), "\(blind.text)")
            let changed = try await desk.send("POST", "\(path)/approve", #"{"request":"\#(seen)"}"#, desk.ann)
            #expect(changed.status == 409 && changed.text.contains("Read it again"), "\(changed.text)")
            #expect(try changed.object.required("details").object().required("path").string() == "request")
            // Bob has edited it, so it is his now.
            #expect(try await desk.decide("approve", id, desk.bob).status == 403)
            #expect(try await desk.send("GET", "/api/schedules/\(id)").status == 404, "there is no schedule yet")
            #expect(try await desk.decide("approve", id, desk.ann).status == 200)
            let schedule = try await desk.send("GET", "/api/schedules/\(id)")
            #expect(try schedule.string("state") == "scheduled", "\(schedule.text)")
            #expect(schedule.text.contains(#""scheduled_time":"2026-11-21T20:00:00""#), "\(schedule.text)")
            let over = try await desk.edit(id, later, desk.ann)
            #expect(over.status == 409 && over.text.contains("was approved"), "\(over.text)")
        }
    }

    @Test func `an edit is checked as a publish is`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            for (body, problem) in [
                (#"{"audience":"all"}"#, "device_types"), ("[\(Desk.push("end")),\(Desk.push("end"))]", "as many"),
                (
                    publishText(
                        activity: #"{"name":"match-1","event":"end"}"#, tail: String(repeating: " ", count: 70_000)),
                    "65536 bytes"
                ),
            ] {
                let refused = try await desk.edit(id, body, desk.ann)
                #expect(refused.status == 400 && refused.text.contains(problem), "\(refused.text)")
            }
            let none = try await desk.send("PUT", "/api/proposals/\(id)", "{}", desk.ann)
            #expect(none.status == 400 && none.text.contains("request: is required"), "\(none.text)")
            let other = try await desk.edit(id, Desk.push("end", "match-2"), desk.ann)
            #expect(try other.status == 200 && other.strings("names") == ["match-2"], "\(other.text)")
        }
    }

    @Test func `two changes of one schedule are two proposals, and the schedule goes on until one is approved`()
        async throws
    {
        try await Desk.run { desk in
            let made = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), desk.feed)
            let schedule = try made.strings("schedule_ids")[0]
            let path = "/api/schedules/\(schedule)"
            var ids: [String] = []
            for time in ["2026-11-21T20:00:00", "2026-11-21T21:00:00"] {
                let asked = try await desk.send("PUT", path, Desk.schedule("end", at: time), desk.ann)
                #expect(try asked.status == 200 && asked.string("held") == "approval", "\(asked.text)")
                ids.append(try asked.string("held_id"))
            }
            #expect(Set(ids).count == 2 && !ids.contains(schedule))
            #expect(try await desk.send("GET", "/api/proposals").integer("total") == 2)
            #expect(try await desk.send("GET", path).text.contains("2026-11-21T19:00:00"))
            #expect(try await desk.decide("approve", ids[1], desk.bob).status == 200)
            #expect(try await desk.send("GET", path).text.contains("2026-11-21T21:00:00"))
            #expect(try await desk.send("DELETE", path).status == 204)
            let late = try await desk.decide("approve", ids[0], desk.bob)
            #expect(late.status == 409 && late.text.contains("refused"), "\(late.text)")
            #expect(try await desk.proposal(ids[0]).state == "failed")
            let gone = try await desk.send("PUT", path, Desk.schedule("end", at: "2026-11-21T20:00:00"), desk.ann)
            #expect(gone.status == 409, "\(gone.text)")
            let unknown = "/api/schedules/\(PushID.random())"
            #expect(try await desk.send("PUT", unknown, Desk.schedule("end"), desk.ann).status == 404)
        }
    }

    @Test func `a schedule that is approved after its time goes out at once, one of the past is refused`() async throws
    {
        try await Desk.run { desk in
            let past = try await desk.send(
                "POST", "/api/schedules", Desk.schedule("end", at: "2026-11-21T17:00:00"), desk.ann)
            #expect(past.status == 400 && past.text.contains("in the past"), "\(past.text)")
            #expect(try await desk.send("GET", "/api/proposals").integer("total") == 0)
        }
    }

    // MARK: Refusals

    @Test func `a rejected one and a withdrawn one say so`() async throws {
        try await Desk.run { desk in
            let rejected = try await desk.ask()
            #expect(try await desk.decide("reject", rejected, desk.ann).status == 403)
            let reply = try await desk.send("POST", "/api/proposals/\(rejected)/reject", nil, desk.bob)
            #expect(try reply.status == 200 && reply.string("state") == "rejected", "\(reply.text)")
            let late = try await desk.decide("approve", rejected, desk.bob)
            #expect(late.status == 409 && late.text.contains("was rejected by the credential 'bob'"), "\(late.text)")
            let withdrawn = try await desk.ask()
            for _ in 0..<2 {
                #expect(try await desk.send("DELETE", "/api/proposals/\(withdrawn)", nil, desk.ann).status == 204)
            }
            let gone = try await desk.decide("approve", withdrawn, desk.bob)
            #expect(gone.status == 409 && gone.text.contains("was withdrawn"), "\(gone.text)")
            let kept = try await desk.send("DELETE", "/api/proposals/\(rejected)", nil, desk.ann)
            #expect(kept.status == 409, "\(kept.text)")
            let unknown = "/api/proposals/\(PushID.random())/approve"
            #expect(try await desk.send("POST", unknown, #"{"request":"x"}"#, desk.bob).status == 404)
            for query in ["state=x", "after=x", "limit=0"] {
                #expect(try await desk.send("GET", "/api/proposals?\(query)", nil, desk.bob).status == 400)
            }
            #expect(try await desk.sent() == 0)
        }
    }

    @Test func `a reason to reject is kept with the proposal, in its answers and in the log`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            let path = "/api/proposals/\(id)/reject"
            for reason in [#""""#, #""a\nb""#, "7", "\"\(String(repeating: "x", count: 1_001))\""] {
                let refused = try await desk.send("POST", path, #"{"reason":\#(reason)}"#, desk.bob)
                #expect(refused.status == 400 && refused.text.contains("reason"), "\(reason): \(refused.text)")
            }
            #expect(try await desk.proposal(id).state == "waiting")
            let reason = "The score is 3:1 – “look”"
            let rejected = try await desk.send("POST", path, #"{"reason":"\#(reason)"}"#, desk.bob)
            #expect(try rejected.string("reason") == reason, "\(rejected.text)")
            let again = try await desk.send("POST", path, #"{"reason":"another one"}"#, desk.bob)
            #expect(try again.status == 200 && again.string("reason") == reason, "the first one counts")
            let list = try await desk.send("GET", "/api/proposals?state=over", nil, desk.ann)
            #expect(list.text.contains(reason), "\(list.text)")
            let log = try await ActionTests.actions(desk.gateway, "?action=reject")
            #expect(try log.allSatisfy { try $0.required("reason").string() == reason } && log.count == 2)
            let plain = try await desk.ask()
            _ = try await desk.send("POST", "/api/proposals/\(plain)/reject", nil, desk.bob)
            #expect(try await !desk.send("GET", "/api/proposals/\(plain)", nil, desk.ann).text.contains("reason"))
        }
    }

    @Test func `to decide needs the scope, for the name`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            _ = try await desk.ask("other-1")
            let path = "/api/proposals/\(id)/approve"
            for user in [desk.feed, "\(GatewayFixture.key):\(GatewayFixture.secret)"] {
                let refused = try await desk.send("POST", path, #"{"request":"x"}"#, user)
                #expect([401, 403].contains(refused.status), "\(refused.text)")
            }
            for (prefix, status) in [("none-", 404), ("match-", 200)] {
                let secret = try await CredentialTests.create(
                    desk.gateway,
                    #"{"id":"of-\#(prefix)","scopes":["read","approve"],"name_prefix":"\#(prefix)"}"#)
                let user = "\(GatewayFixture.key):\(secret)"
                #expect(try await desk.send("POST", "/api/push", Desk.push("update"), user).status == 403)
                let preview = try await desk.send("POST", "/api/push/validate", Desk.push("end"), user)
                #expect(preview.status == (status == 200 ? 200 : 403), "who approves may count")
                let listed = try await desk.send("GET", "/api/proposals", nil, user)
                #expect(try listed.integer("total") == (status == 200 ? 1 : 0))
                #expect(try await desk.send("GET", "/api/proposals/\(id)", nil, user).status == status)
                let request = try await desk.proposal(id).request
                let reply = try await desk.send("POST", path, #"{"request":"\#(request)"}"#, user)
                #expect(reply.status == status, "\(reply.text)")
            }
        }
    }

    @Test func `nobody becomes two by a credential that they make`() async throws {
        try await Desk.run { desk in
            let secret = try await CredentialTests.create(
                desk.gateway, #"{"id":"head","scopes":["read","propose","approve","operate"]}"#)
            let head = "\(GatewayFixture.key):\(secret)"
            for scope in ["propose", "approve"] {
                let body = #"{"id":"puppet","scopes":["\#(scope)"]}"#
                let refused = try await desk.send("POST", "/api/credentials", body, head)
                #expect(refused.status == 403 && refused.text.contains("one person could be two"), "\(refused.text)")
            }
            let taken = try await desk.send("POST", "/api/credentials/ann/rotate", "{}", head)
            #expect(taken.status == 403 && taken.text.contains("Only the master secret"), "\(taken.text)")
            #expect(
                try await desk.send("POST", "/api/credentials", #"{"id":"r","scopes":["read"]}"#, head).status == 201)
            #expect(try await desk.send("DELETE", "/api/credentials/bob", nil, head).status == 204)
        }
    }

    @Test func `a request that would be too long to keep is refused`() async throws {
        try await Desk.run { desk in
            let spaces = String(repeating: " ", count: 70_000)
            let long = publishText(activity: #"{"name":"match-1","event":"end"}"#, tail: spaces)
            let refused = try await desk.send("POST", "/api/push", long, desk.ann)
            #expect(refused.status == 400 && refused.text.contains("65536 bytes, because it waits"), "\(refused.text)")
            #expect(try await desk.sent() == 0)
        }
    }
}
