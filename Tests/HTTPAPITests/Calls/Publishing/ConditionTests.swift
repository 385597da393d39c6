import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// `options.after`: a publisher says which push it has seen as the newest one, and hears of each other one.
@Suite struct ConditionTests {
    private static func push(
        _ after: String?, _ name: String = "match-1", audience: String = #""all""#, n: Int = 1, more: String = ""
    ) -> String {
        let options = (after.map { #""after":"\#($0)""# }.map { [$0] } ?? []) + (more.isEmpty ? [] : [more])
        return publishText(
            audience: audience, activity: #"{"name":"\#(name)","event":"update","content_state":{"n":\#(n)}}"#,
            tail: options.isEmpty ? "" : #","options":{\#(options.joined(separator: ","))}"#)
    }

    private func accepted(_ reply: Reply) throws -> String {
        try #require(reply.status == 202, "\(reply.text)")
        return try reply.strings("push_ids")[0]
    }

    @Test func `an editor who has not seen the newest push is told of it, and of who sent it`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let secret = try await CredentialTests.create(gateway, #"{"id":"newsroom","scopes":["publish","read"]}"#)
            let first = try accepted(try await gateway.publish(Self.push("none")))
            let activity = try await gateway.send("GET", "/api/activities/match-1").object
            let seen = try activity.required("newest_push").object()
            #expect(try seen.required("push_id").string() == first)
            let second = try accepted(
                try await gateway.send(
                    "POST", "/api/push", Self.push(nil, n: 5), user: "\(GatewayFixture.key):\(secret)"))
            let refused = try await gateway.publish(Self.push(first, n: 2))
            #expect(refused.status == 409)
            let words =
                "does not hold: the newest push of the name is <uuid> (update, queued, by newsroom). "
                + "Nothing was accepted. Look at it, then publish after it"
            #expect(
                refused.golden
                    == #"{"ok":false,"operation_id":"<uuid>","error":"options.after: \#(words).","error_code":40904,"#
                    + #""details":{"error":"\#(words)","path":"options.after"},"newest_push":{"push_id":"<uuid>","#
                    + #""event":"update","state":"queued","accepted_at":"<time>","audience":"all","#
                    + #""by":{"credential":"newsroom","address":"127.0.0.1"}}}"#)
            #expect(refused.text.contains(second))
            _ = try accepted(try await gateway.publish(Self.push(second, n: 2)))
            #expect(try await gateway.send("GET", "/api/pushes").object.required("pushes").array().count == 3)
        }
    }

    @Test func `a name without a push takes none, and any push or none is as no condition`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let refused = try await gateway.publish(Self.push(PushID.random().description))
            #expect(refused.status == 409 && refused.text.contains("the name has no push"), "\(refused.text)")
            #expect(!refused.text.contains("newest_push"))
            for _ in 0..<2 { _ = try accepted(try await gateway.publish(Self.push("any"))) }
            for wrong in [#""after":"x""#, #""after":1"#, #""after":null"#] {
                let reply = try await gateway.publish(Self.push(nil, more: wrong))
                #expect(reply.status == 400 && reply.text.contains(#""path":"options.after""#), "\(reply.text)")
            }
        }
    }

    @Test func `a caller without the right to read is not told who published`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let secret = try await CredentialTests.create(gateway, #"{"id":"feed","scopes":["publish"]}"#)
            _ = try accepted(try await gateway.publish(Self.push(nil)))
            let refused = try await gateway.send(
                "POST", "/api/push", Self.push("none"), user: "\(GatewayFixture.key):\(secret)")
            #expect(refused.status == 409 && refused.text.contains("newest_push"), "\(refused.text)")
            #expect(!refused.text.contains("master"), "\(refused.text)")
        }
    }

    @Test func `a test on one device is no newest push and no content state`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let first = try accepted(try await gateway.publish(Self.push(nil)))
            let channel = PushID.random().description
            let test = Self.push(
                first, audience: #"{"ios_channel":"\#(channel)"}"#, n: 88, more: #""trace":"\#(channel)""#)
            let id = try accepted(try await gateway.publish(test))
            #expect(try await gateway.send("GET", "/api/push/\(id)").text.contains(#""test":true"#))
            let shown = try await gateway.send("GET", "/api/activities/match-1").object
            for key in ["newest_push", "last_content_state"] {
                #expect(try shown.required(key).object().required("push_id").string() == first)
            }
            _ = try accepted(try await gateway.publish(Self.push(first)))
        }
    }

    @Test func `a repetition with the same key answers as the first did`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let first = try accepted(try await gateway.publish(Self.push("none")))
            func send() async throws -> Reply {
                try await gateway.publish(Self.push(first, n: 2), headers: [("Idempotency-Key", "k")])
            }
            let second = try accepted(try await send())
            _ = try accepted(try await gateway.publish(Self.push(second, n: 3)))
            #expect(try accepted(try await send()) == second)
            let other = try await gateway.publish(Self.push(second, n: 2), headers: [("Idempotency-Key", "k")])
            #expect(other.status == 409 && other.text.contains("Idempotency-Key"), "another condition is another body")
        }
    }

    @Test func `the pushes of one call for a name come after each other, and a refusal names its place`() async throws {
        try await GatewayFixture.run { gateway in
            for name in ["match-1", "match-2"] { try await gateway.follow(name) }
            let gold = Self.push("none", audience: #"{"tag":"gold"}"#, n: 2)
            let both = try await gateway.publish("[\(Self.push("none")),\(gold),\(Self.push("none", "match-2"))]")
            let ids = try both.strings("push_ids")
            #expect(both.status == 202 && ids.count == 3, "\(both.text)")
            let part = try await gateway.publish("[\(Self.push(ids[1])),\(Self.push("none", "match-2"))]")
            #expect(part.status == 409 && part.text.contains(#""path":"[1].options.after""#), "\(part.text)")
            #expect(try part.strings("push_ids").count == 1, "the first one is accepted")
            #expect(try part.object.required("newest_push").object().required("push_id").string() == ids[2])
        }
    }

    @Test func `a dry run warns, and a schedule is not asked before its time`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let first = try accepted(try await gateway.publish(Self.push(nil)))
            let old = Self.push("none")
            let warned = try await gateway.send("POST", "/api/push/validate", old)
            #expect(warned.status == 200 && warned.text.contains("options.after: does not hold"), "\(warned.text)")
            let two = try await gateway.send("POST", "/api/push/validate", "[\(Self.push(first)),\(old)]")
            #expect(two.text.contains("[1].options.after: does not hold"), "\(two.text)")
            let right = try await gateway.send("POST", "/api/push/validate", Self.push(first))
            #expect(!right.text.contains("options.after"), "\(right.text)")
            let schedule = #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(old)}"#
            let made = try await gateway.send("POST", "/api/schedules", schedule)
            let id = try #require(PushID(try made.strings("schedule_ids")[0]))
            let kept = try await gateway.store.schedules.find(gateway.app, id)
            #expect(kept?.publish.options.after == .nothing)
        }
    }

    @Test func `of editors who have seen the same push exactly one is accepted`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            var newest = "none"
            for round in 0..<20 {
                let seen = newest
                let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                    for editor in 0..<3 {
                        group.addTask { try await gateway.publish(Self.push(seen, n: 10 * round + editor)) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let winners = replies.filter { $0.status == 202 }
                try #require(winners.count == 1, "\(replies.map(\.text))")
                newest = try accepted(winners[0])
                for loser in replies where loser.status != 202 {
                    #expect(loser.status == 409 && loser.text.contains(newest), "\(loser.text)")
                }
            }
        }
    }
}
