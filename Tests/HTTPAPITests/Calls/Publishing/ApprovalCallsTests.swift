import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Publishes that wait for a second person: whose do, who decides, and what is refused.
@Suite struct ApprovalCallsTests {
    /// A gateway with two who propose and approve, and a feed that publishes alone.
    private struct Desk: Sendable {
        let gateway: GatewayFixture
        let ann, bob, feed: String

        static func run(
            _ rule: ApprovalRule = .all, _ body: (Desk) async throws -> Void
        ) async throws {
            try await GatewayFixture.run(configure: { $0.apps[0].approvalRule = rule }) { gateway in
                func user(_ id: String, _ more: String) async throws -> String {
                    let secret = try await CredentialTests.create(gateway, #"{"id":"\#(id)",\#(more)}"#)
                    return "\(GatewayFixture.key):\(secret)"
                }
                try await gateway.follow("match-1")
                try await body(
                    Desk(
                        gateway: gateway, ann: user("ann", #""scopes":["read","propose","approve"]"#),
                        bob: user("bob", #""scopes":["read","propose","approve"]"#),
                        feed: user("feed", #""scopes":["read","publish"]"#)))
            }
        }

        func send(_ method: String, _ path: String, _ body: String? = nil, _ user: String) async throws -> Reply {
            try await gateway.send(method, path, body, user: user)
        }

        func schedule(_ id: String) async throws -> (state: String, request: String) {
            let reply = try await gateway.send("GET", "/api/schedules/\(id)")
            let approval = try reply.object["approval"]?.object()
            return (try reply.string("state"), try approval?.required("request").string() ?? "")
        }

        func decide(_ word: String, _ id: String, _ user: String) async throws -> Reply {
            let request = try await schedule(id).request
            return try await send("POST", "/api/schedules/\(id)/\(word)", #"{"request":"\#(request)"}"#, user)
        }

        /// Asks for the end of a name.
        func ask(_ name: String = "match-1", _ user: String? = nil) async throws -> String {
            let reply = try await send("POST", "/api/push", Self.push("end", name), user ?? ann)
            try #require(reply.status == 202, "\(reply.text)")
            return try reply.strings("push_ids")[0]
        }

        static func push(_ event: String, _ name: String = "match-1", more: String = "") -> String {
            publishText(activity: #"{"name":"\#(name)","event":"\#(event)","content_state":{"n":1}\#(more)}"#)
        }

        static func schedule(_ event: String, at time: String = "2026-11-21T19:00:00") -> String {
            #"{"schedule":{"scheduled_time":"\#(time)"},"push":\#(push(event))}"#
        }

        func sent() async throws -> Int {
            try await gateway.send("GET", "/api/pushes").object.required("pushes").array().count
        }
    }

    @Test func `a publish of one who proposes waits, and another one approves it`() async throws {
        try await Desk.run { desk in
            let asked = try await desk.send("POST", "/api/push", Desk.push("end"), desk.ann)
            #expect(asked.status == 202)
            #expect(
                asked.golden == #"{"ok":true,"operation_id":"<uuid>","push_ids":["<uuid>"],"message_ids":[],"#
                    + #""content_urls":[],"state":"awaiting_approval"}"#)
            let id = try asked.strings("push_ids")[0]
            #expect(try await desk.sent() == 0)
            #expect(try await desk.gateway.send("GET", "/api/push/\(id)").string("state") == "scheduled")
            let list = try await desk.send("GET", "/api/schedules?state=awaiting_approval", nil, desk.bob)
            #expect(try list.integer("total_count") == 1 && list.text.contains(id))
            let shown = try await desk.send("GET", "/api/schedules/\(id)", nil, desk.bob)
            let approval = try shown.object.required("approval").object()
            #expect(try shown.string("state") == "awaiting_approval")
            #expect(try approval.required("asked_by").object().required("credential").string() == "ann")
            #expect(try approval.required("at_once").bool())
            #expect(try approval.required("lapses_at").string() == "2026-11-21T19:00:00.000Z")
            let own = try await desk.decide("approve", id, desk.ann)
            #expect(own.status == 403 && own.text.contains("another person with the scope approve"), "\(own.text)")
            #expect(try own.integer("error_code") == 40306)
            let approved = try await desk.decide("approve", id, desk.bob)
            #expect(approved.status == 200, "\(approved.text)")
            #expect(try approved.string("state") == "scheduled")
            #expect(try await desk.decide("approve", id, desk.bob).status == 200, "it may be repeated")
            let late = try await desk.send(
                "POST", "/api/schedules/\(id)/approve", #"{"request":"x"}"#,
                "\(GatewayFixture.key):\(GatewayFixture.masterSecret)")
            #expect(late.status == 409 && late.text.contains("was approved by the credential 'bob'"), "\(late.text)")
            let runs = try await desk.gateway.store.schedules.runDue(try desk.gateway.app, limit: 10)
            #expect(runs.map(\.id.description) == [id] && runs[0].outcome == .sent)
            let ledger = try await desk.gateway.send("GET", "/api/push/\(id)")
            #expect(ledger.text.contains(#""by":{"credential":"ann""#), "\(ledger.text)")
            let log = try await ActionTests.actions(desk.gateway, "?action=approve")
            #expect(try log.map { try $0.required("credential").string() } == ["bob", "bob"])
            #expect(try log[0].required("asked_by").string() == "ann" && log[0].required("name").string() == "match-1")
            try await eventually("the log has the proposal") {
                try await ActionTests.actions(desk.gateway, "?action=propose").count == 1
            }
            #expect(try await ActionTests.actions(desk.gateway, "?action=publish").isEmpty)
        }
    }

    @Test func `those with publish and the master secret publish as ever`() async throws {
        try await Desk.run { desk in
            for user in [desk.feed, "\(GatewayFixture.key):\(GatewayFixture.masterSecret)"] {
                let reply = try await desk.send("POST", "/api/push", Desk.push("update"), user)
                #expect(reply.status == 202 && !reply.text.contains("state"), "\(reply.text)")
                let scheduled = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), user)
                #expect(scheduled.text.contains(#""state":"scheduled""#), "\(scheduled.text)")
            }
            #expect(try await desk.sent() == 2)
            let preview = try await desk.send("POST", "/api/push/validate", Desk.push("end"), desk.feed)
            #expect(preview.status == 200 && !preview.text.contains("awaits_approval"))
        }
    }

    @Test func `the app's rule says which events wait, and all of one body do`() async throws {
        try await Desk.run(.ends) { desk in
            let update = try await desk.send("POST", "/api/push", Desk.push("update"), desk.ann)
            #expect(update.status == 202 && !update.text.contains("awaiting_approval"), "\(update.text)")
            #expect(try await desk.sent() == 1)
            let both = "[\(Desk.push("update")),\(Desk.push("end"))]"
            let preview = try await desk.send("POST", "/api/push/validate", both, desk.ann)
            #expect(preview.text.matches(of: #/"awaits_approval":true/#).count == 2, "\(preview.text)")
            let asked = try await desk.send("POST", "/api/push", both, desk.ann)
            #expect(asked.text.contains(#""state":"awaiting_approval""#), "\(asked.text)")
            #expect(try await desk.sent() == 1)
            let list = try await desk.send("GET", "/api/schedules?state=awaiting_approval", nil, desk.bob)
            #expect(try list.integer("total_count") == 2)
        }
    }

    @Test func `a repeated request is one, and its key tells later what became of it`() async throws {
        try await Desk.run { desk in
            func ask() async throws -> Reply {
                try await desk.gateway.send(
                    "POST", "/api/push", Desk.push("end"), user: desk.ann, headers: [("Idempotency-Key", "k")])
            }
            let id = try await ask().strings("push_ids")[0]
            #expect(try await ask().strings("push_ids") == [id])
            #expect(try await desk.decide("approve", id, desk.bob).status == 200)
            let again = try await ask()
            #expect(try again.strings("push_ids") == [id] && !again.text.contains("awaiting_approval"), "\(again.text)")
            #expect(try await desk.schedule(id).state == "scheduled", "the repetition asks for nothing new")
        }
    }

    @Test func `a repeated request says that it was rejected, withdrawn or lapsed`() async throws {
        try await Desk.run { desk in
            func ask(_ key: String) async throws -> Reply {
                try await desk.gateway.send(
                    "POST", "/api/push", Desk.push("end"), user: desk.ann, headers: [("Idempotency-Key", key)])
            }
            for (key, state) in [("r", "rejected"), ("w", "cancelled"), ("l", "failed")] {
                let first = try await ask(key)
                let id = try first.strings("push_ids")[0]
                #expect(try first.string("state") == "awaiting_approval")
                switch key {
                case "r": #expect(try await desk.decide("reject", id, desk.bob).status == 200)
                case "w": #expect(try await desk.send("DELETE", "/api/schedules/\(id)", nil, desk.ann).status == 204)
                default:
                    let record = desk.gateway.store.keys.schedule(try desk.gateway.app, try #require(PushID(id)))
                    try await desk.gateway.store.redis.run("HSET", record, "state", "failed", "reason", "NotApproved")
                }
                let again = try await ask(key)
                #expect(try again.status == 202 && again.strings("push_ids") == [id])
                #expect(try again.string("state") == state, "\(again.text)")
            }
        }
    }

    @Test func `an approval names what its person has seen, and an edit asks anew`() async throws {
        try await Desk.run { desk in
            let made = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), desk.ann)
            #expect(made.status == 201 && made.text.contains(#""state":"awaiting_approval""#), "\(made.text)")
            let id = try made.strings("schedule_ids")[0]
            let path = "/api/schedules/\(id)"
            let seen = try await desk.schedule(id).request
            for (body, problem) in [(nil, "request: is required"), ("{}", "request: is required")]
                as [(String?, String)]
            {
                let refused = try await desk.send("POST", "\(path)/approve", body, desk.bob)
                #expect(refused.status == 400 && refused.text.contains(problem), "\(refused.text)")
            }
            let later = Desk.schedule("end", at: "2026-11-21T20:00:00")
            #expect(try await desk.send("PUT", path, later, desk.ann).text.contains("awaiting_approval"))
            let changed = try await desk.send("POST", "\(path)/approve", #"{"request":"\#(seen)"}"#, desk.bob)
            #expect(changed.status == 409 && changed.text.contains("Read the schedule again"), "\(changed.text)")
            #expect(try changed.object.required("details").object().required("path").string() == "request")
            #expect(try await desk.decide("approve", id, desk.bob).status == 200)
            // Bob changes it after his approval: now it is his request, and Ann decides.
            #expect(try await desk.send("PUT", path, later, desk.bob).text.contains("awaiting_approval"))
            #expect(try await desk.decide("approve", id, desk.bob).status == 403)
            #expect(try await desk.decide("approve", id, desk.ann).status == 200)
            // The feed publishes alone, so what it puts there needs nobody.
            let own = try await desk.send("PUT", path, later, desk.feed)
            #expect(own.text.contains(#""state":"scheduled""#) && !own.text.contains("approval"), "\(own.text)")
        }
    }

    @Test func `a rejected one, a withdrawn one and a lapsed one say so`() async throws {
        try await Desk.run { desk in
            let rejected = try await desk.ask()
            #expect(try await desk.decide("reject", rejected, desk.ann).status == 403)
            let reply = try await desk.send("POST", "/api/schedules/\(rejected)/reject", nil, desk.bob)
            #expect(try reply.status == 200 && reply.string("state") == "rejected", "\(reply.text)")
            let late = try await desk.decide("approve", rejected, desk.bob)
            #expect(late.status == 409 && late.text.contains("was rejected by the credential 'bob'"), "\(late.text)")
            #expect(try await desk.gateway.send("GET", "/api/push/\(rejected)").string("state") == "cancelled")
            let withdrawn = try await desk.ask()
            #expect(try await desk.send("DELETE", "/api/push/\(withdrawn)", nil, desk.ann).status == 200)
            let gone = try await desk.decide("approve", withdrawn, desk.bob)
            #expect(gone.status == 409 && gone.text.contains("was deleted"), "\(gone.text)")
            let plain = try await desk.send("POST", "/api/schedules", Desk.schedule("end"), desk.feed)
            let other = try await desk.decide("approve", try plain.strings("schedule_ids")[0], desk.bob)
            #expect(other.status == 409 && other.text.contains("does not wait for approval"), "\(other.text)")
            let unknown = "/api/schedules/\(PushID.random())/approve"
            #expect(try await desk.send("POST", unknown, #"{"request":"x"}"#, desk.bob).status == 404)
            #expect(try await desk.sent() == 0)
        }
    }

    @Test func `a reason to reject is kept with the schedule, in its answers and in the log`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            let path = "/api/schedules/\(id)/reject"
            for reason in [#""""#, #""a\nb""#, "7", "\"\(String(repeating: "x", count: 1_001))\""] {
                let refused = try await desk.send("POST", path, #"{"reason":\#(reason)}"#, desk.bob)
                #expect(refused.status == 400 && refused.text.contains("reason"), "\(reason): \(refused.text)")
            }
            #expect(try await desk.schedule(id).state == "awaiting_approval")
            let reason = "The score is 3:1 – “look”"
            let rejected = try await desk.send("POST", path, #"{"reason":"\#(reason)"}"#, desk.bob)
            #expect(try rejected.string("reason") == reason, "\(rejected.text)")
            let again = try await desk.send("POST", path, #"{"reason":"another one"}"#, desk.bob)
            #expect(try again.status == 200 && again.string("reason") == reason, "the first one counts")
            let shown = try await desk.send("GET", "/api/schedules/\(id)", nil, desk.ann)
            #expect(try shown.string("state") == "rejected" && shown.string("reason") == reason)
            let list = try await desk.send("GET", "/api/schedules?state=finished", nil, desk.ann)
            #expect(list.text.contains(reason), "\(list.text)")
            let log = try await ActionTests.actions(desk.gateway, "?action=reject")
            #expect(try log.allSatisfy { try $0.required("reason").string() == reason } && log.count == 2)
            #expect(try await desk.gateway.send("GET", "/api/push/\(id)").text.contains(#""errors":{}"#))
            let plain = try await desk.ask()
            _ = try await desk.send("POST", "/api/schedules/\(plain)/reject", nil, desk.bob)
            #expect(try await !desk.send("GET", "/api/schedules/\(plain)", nil, desk.ann).text.contains("reason"))
        }
    }

    @Test func `to decide needs the scope, for the name`() async throws {
        try await Desk.run { desk in
            let id = try await desk.ask()
            let path = "/api/schedules/\(id)/approve"
            for user in [desk.feed, "\(GatewayFixture.key):\(GatewayFixture.secret)"] {
                let refused = try await desk.send("POST", path, #"{"request":"x"}"#, user)
                #expect([401, 403].contains(refused.status), "\(refused.text)")
            }
            for (prefix, status) in [("other-", 404), ("match-", 200)] {
                let secret = try await CredentialTests.create(
                    desk.gateway,
                    #"{"id":"of-\#(prefix)","scopes":["read","approve"],"name_prefix":"\#(prefix)"}"#)
                let user = "\(GatewayFixture.key):\(secret)"
                #expect(try await desk.send("POST", "/api/push", Desk.push("update"), user).status == 403)
                let preview = try await desk.send("POST", "/api/push/validate", Desk.push("end"), user)
                #expect(preview.status == (status == 200 ? 200 : 403), "who approves may count")
                let listed = try await desk.send("GET", "/api/schedules?state=awaiting_approval", nil, user)
                #expect(try listed.integer("total_count") == (status == 200 ? 1 : 0))
                let request = try await desk.schedule(id).request
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
