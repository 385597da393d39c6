import Foundation
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Publishers who say which push they have seen, by the command line, and through gateways that die.
@Suite struct ConditionStoryTests {
    @Test func `a second editor is told of the first, and a schedule that comes too late raises an alarm`()
        async throws
    {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        func publish(_ options: String...) async throws -> Program.Output {
            try await deployment.run(["publish", "match-1", "--content-state", "{}"] + options)
        }
        let first = try await publish("--after", "none").out.trimmingCharacters(in: .whitespacesAndNewlines)
        let refused = try await publish("--after", "none")
        #expect(refused.code == 1 && refused.err.contains("the newest push of the name is \(first)"), "\(refused.err)")
        let activity = try await deployment.run("activity", "match-1")
        #expect(activity.out.contains("\(first) (update, queued, by master)"), "\(activity.out)")
        let tried = try await publish("--after", "none", "--dry-run")
        #expect(tried.code == 0 && tried.err.contains("options.after: does not hold"), "\(tried.err)")
        #expect(try await publish("--after", "x").code == 64)

        let made = try await publish("--after", first, "--at", "+1h")
        let schedule = made.out.trimmingCharacters(in: .whitespacesAndNewlines)
        // It was made ten minutes ago, so nobody watches it.
        let redis = RedisClient(url: deployment.redis.url, scripts: Store.scripts, logger: .quiet)
        let key = Keyspace(prefix: Keyspace.defaultPrefix)
            .schedule(try AppKey("shop"), try #require(PushID(schedule)))
        try await redis.send(RedisCommand("HSET", key, "created", .int(Deployment.now - 600_000)))
        await redis.close()
        #expect(try await publish("--after", first, "--at", "+1", "--replace", schedule).code == 0)
        #expect(try await publish("--after", first).code == 0)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await eventually("the alarm is raised") {
            try await deployment.run("status").out.contains("conflict: the update of match-1")
        }
        #expect(try await deployment.run("schedule", "show", schedule).out.contains("failed: Conflict"))
        let ledger = try await deployment.call("GET", "\(deployment.gatewayURL)/api/push/\(schedule)")
        #expect(ledger.text.contains(#""state":"failed""#) && ledger.text.contains(#""errors":{"Conflict":1}"#))
        #expect(try await deployment.run("push", schedule, "--wait").code == 1)
    }

    /// Each adds one to the number that the cards show. If two saw the same number, or an answer is lost, none is lost
    /// and none counts twice.
    @Test func `two publishers count together while their gateways are killed`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        func gateway() async throws -> (Program, String) {
            let program = try Program(
                [Program.path, "serve", "--port", "0"], directory: deployment.directory,
                environment: deployment.environment)
            try await program.waitForLog("listening")
            return (program, program.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? "")
        }
        let goal = 30
        try await withThrowingTaskGroup(of: Void.self) { group in
            for publisher in 0..<2 {
                group.addTask {
                    var own = try await gateway()
                    defer { own.0.kill() }
                    var calls = 0
                    /// Repeats a call that has no answer. The gateway dies beside each seventh call.
                    func call(_ method: String, _ path: String, _ body: String?, key: String) async throws -> (
                        status: Int, json: [String: Any]
                    ) {
                        while true {
                            calls += 1
                            let ((program, url), dies) = (own, calls % 7 == 0)
                            async let kill: Void = { if dies { program.kill() } }()
                            let answer = try? await deployment.call(
                                method, url + path, body: body, headers: [("Idempotency-Key", key)])
                            await kill
                            if dies { own = try await gateway() }
                            if let answer, answer.status != 503 { return (answer.status, answer.json) }
                        }
                    }
                    var attempt = 0
                    while true {
                        let activity = try await call("GET", "/api/activities/match-1", nil, key: "x").json
                        let newest = (activity["newest_push"] as? [String: Any])?["push_id"] as? String
                        let state = activity["last_content_state"] as? [String: Any]
                        let number = (state?["content_state"] as? [String: Any])?["n"] as? Int ?? 0
                        if number >= goal { return }
                        // Somebody published between the two reads of the call.
                        guard newest == state?["push_id"] as? String else { continue }
                        attempt += 1
                        let body = Deployment.push(
                            "match-1", #""all""#, #""event":"update","content_state":{"n":\#(number + 1)}"#,
                            tail: #","options":{"after":"\#(newest ?? "none")"}"#)
                        let answer = try await call("POST", "/api/push", body, key: "\(publisher)-\(attempt)")
                        #expect([202, 409].contains(answer.status), "\(answer.json)")
                    }
                }
            }
            try await group.waitForAll()
        }
        let history = try await deployment.call("GET", "\(deployment.gatewayURL)/api/pushes?name=match-1&limit=100")
        let pushes = history.json["pushes"] as? [[String: Any]] ?? []
        #expect(pushes.count == goal, "each number was published once")
        let shown = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-1")
        #expect(shown.text.contains(#""content_state":{"n":\#(goal)}"#), "\(shown.text)")
    }
}
