import Foundation
import TestSupport
import Testing

/// Tests everything that a publisher can say about an activity's life, from the command line to the simulator's record.
@Suite("The life of an activity")
struct LifeTests {
    @Test func `update, alert, end: each as Apple has it, and then nothing more`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let token = Deployment.token(1)
        #expect(try await deployment.run("track", "order-1", Deployment.channel(1), token).code == 0)
        let pushes: [[String]] = [
            ["--content-state", #"{"status":"baking"}"#, "--stale-date", "+15m", "--relevance-score", "50"],
            [
                "--content-state", #"{"status":"at the door"}"#, "--alert",
                #"{"title":{"loc-key":"ARRIVED","loc-args":["12"]},"body":"Open up","sound":"bell.aiff"}"#,
            ],
            ["--event", "end", "--content-state", #"{"status":"eaten"}"#, "--dismissal-date", "now"],
        ]
        for (number, options) in pushes.enumerated() {
            let output = try await publish(deployment, "order-1", options)
            #expect(output.code == 0, "\(output.err)")
            #expect(try Ledger(output.out)["delivered"] == 1)
            #expect(try await deployment.received(token)["accepted"] as? Int == number + 1)
        }
        let shown = try await deployment.received(token)
        #expect(shown["event"] as? String == "end")
        #expect((shown["content_state"] as? [String: Any])?["status"] as? String == "eaten")
        let late = try await publish(deployment, "order-1", ["--content-state", "{}"])
        #expect(late.code == 1 && late.err.contains("is closed by an end"), "\(late.err)")
        let tried = try await deployment.run("publish", "order-1", "--content-state", "{}", "--dry-run")
        #expect(tried.code == 0 && tried.err.contains("is closed by an end"), "\(tried.err)")
        #expect(try await deployment.received(token)["accepted"] as? Int == 3)
    }

    @Test func `a schedule goes out at its time, whoever lives then; a deleted one never`() async throws {
        let deployment = try await Deployment.start()
        let token = Deployment.token(1)
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), token).code == 0)
        let soon = try await schedule(deployment, at: "+1h", #"{"home":0}"#)
        let never = try await schedule(deployment, at: "+2h", #"{"home":9}"#)
        #expect(try await schedule(deployment, at: "+2", #"{"home":1}"#, ["--replace", soon]) == soon)
        let listed = try await deployment.run("schedule", "list")
        let ids = listed.out.split(separator: "\n").dropFirst().map { String($0.prefix(36)) }
        #expect(ids == [soon, never], "\(listed.out)")
        let first = try await deployment.run("schedule", "list", "--limit", "1")
        #expect(first.out.contains(soon) && first.err.contains("2 in all; --start \(never) lists"), "\(first.err)")
        #expect(try await deployment.run("schedule", "list", "--finished").out == "no schedules\n")
        #expect(try await Ledger(deployment.run("push", soon, "--json").out).state == "scheduled")
        #expect(try await deployment.run("schedule", "delete", never).code == 0)
        let late = try await deployment.run(
            "publish", "match-1", "--content-state", "{}", "--at", "+1h", "--replace", never)
        #expect(late.code == 1 && late.err.contains("Create another one"), "\(late.err)")
        // The schedule was made without a worker, and it outlives the gateway that accepted it.
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let ended = try await deployment.run("push", soon, "--wait", "--json")
        #expect(try Ledger(ended.out)["delivered"] == 1, "\(ended.err)")
        // The schedule is closed after its push is committed, which another task of the worker may have sent by then.
        try await eventually("the schedule is closed") {
            try await deployment.run("schedule", "show", soon).out.contains("sent")
        }
        #expect(try await Ledger(deployment.run("push", never, "--json").out).state == "cancelled")
        let received = try await deployment.received(token)
        #expect(received["accepted"] as? Int == 1)
        #expect((received["content_state"] as? [String: Any])?["home"] as? Int == 1)
        let skipped = try await deployment.run(
            "publish", "match-1", "--content-state", "{}", "--at", "2027-03-28T02:30",
            environment: ["TZ": "Europe/Berlin"])
        #expect(skipped.code == 64 && skipped.err.contains("the clocks are put forward"), "\(skipped.err)")
    }

    @Test func `what the app could not decode is refused, with the place, and never sent`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        let file = deployment.directory + "/match.json"
        let schema = """
            {"content_state":{"type":"object","properties":{"home":{"type":"integer"}},"required":["home"]},
            "attributes":{"type":"object","required":["league"]},"names":["match-*"]}
            """
        try schema.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try await deployment.run("schema", "set", "MatchAttributes", file).code == 0)
        #expect(try await deployment.run("schema", "list").out.contains("MatchAttributes  content state, attributes"))
        let wrong = try await deployment.run("publish", "match-1", "--content-state", #"{"home":"1"}"#)
        #expect(wrong.code == 1)
        #expect(wrong.err.contains("must be a whole number, not a string (schema of MatchAttributes)"), "\(wrong.err)")
        #expect(wrong.err.contains("notification.ios.live_activity.content_state.home"))
        let start = try await deployment.post(
            "match-2", #""all""#,
            #""event":"start","content_state":{"home":0},"attributes_type":"MatchAttributes","attributes":{"cup":1},"#
                + #""alert":{"title":"Kick-off"}"#)
        #expect(start.status == 400 && start.text.contains("live_activity.attributes"), "\(start.text)")
        #expect(start.text.contains("league"), "\(start.text)")
        #expect(try await deployment.record()["requests"] as? Int == 0)
        let right = try await publish(deployment, "match-1", ["--content-state", #"{"home":1}"#])
        #expect(try Ledger(right.out)["delivered"] == 1, "\(right.err)")
        let shown = try await deployment.received(Deployment.token(1))["content_state"] as? [String: Any]
        #expect(shown?["home"] as? Int == 1)
        #expect(try await deployment.run("activity", "order-1", "--attributes-type", "MatchAttributes").code == 0)
        #expect(try await deployment.run("publish", "order-1", "--content-state", "{}").code == 1)
        #expect(try await deployment.run("schema", "delete", "MatchAttributes").code == 0)
        #expect(try await deployment.run("publish", "order-1", "--content-state", "{}").code == 0)
    }

    @Test func `past the budget an update is demoted, unless its publisher insists`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_BUDGET_HIGH_PER_HOUR": "1"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        var demoted: [Int] = []
        for options in [[], [], ["--insist"], ["--alert-title", "Goal"]] {
            let output = try await publish(deployment, "match-1", ["--content-state", "{}"] + options)
            demoted.append(try Ledger(output.out)["demoted"])
        }
        #expect(demoted == [0, 1, 0, 0])
    }

    private func publish(_ deployment: Deployment, _ name: String, _ options: [String]) async throws -> Program.Output {
        try await deployment.run(["publish", name, "--wait", "--json"] + options)
    }

    private func schedule(
        _ deployment: Deployment, at time: String, _ state: String, _ options: [String] = []
    ) async throws -> String {
        let output = try await deployment.run(["publish", "match-1", "--content-state", state, "--at", time] + options)
        #expect(output.code == 0, "\(output.err)")
        return output.out.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
