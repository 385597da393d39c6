import Foundation
import TestSupport
import Testing

/// Tests wrong configurations with the real simulator, and the way back. No token is lost.
@Suite("What operators see and decide")
struct OperatorStoryTests {
    private func publish(_ deployment: Deployment, _ name: String) async throws -> Ledger {
        let output = try await deployment.run("publish", name, "--content-state", "{}", "--wait", "--json")
        let ledger = try Ledger(output.out)
        #expect(ledger.addsUp, "\(output.out) \(output.err)")
        return ledger
    }

    private func faults(_ control: String, _ body: String, _ deployment: Deployment) async throws {
        #expect(try await deployment.call("POST", control + "/simulator/faults", user: nil, body: body).status == 200)
    }

    private func tokens(_ deployment: Deployment, _ name: String) async throws -> Int {
        let answer = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/\(name)")
        return answer.json["tokens"] as? Int ?? -1
    }

    private func alarms(_ deployment: Deployment) async throws -> [String] {
        let ready = try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil)
        #expect(ready.status == 200)
        return (ready.json["alarms"] as? [[String: Any]] ?? []).compactMap { $0["kind"] as? String }
    }

    @Test func `doctor says that no worker or no gateway runs, and what to do`() async throws {
        let deployment = try await Deployment.start()
        func doctor(_ lines: Regex<Substring>...) async throws {
            try await eventually("doctor knows what runs", within: .seconds(60)) {
                let checked = try await deployment.run("doctor")
                #expect(checked.code == 0, "\(checked.out)\(checked.err)")
                return lines.allSatisfy { checked.out.contains($0) }
            }
        }
        let start = /→ start one: lamplighter work/
        try await doctor(/✓ gateways +1 gateway at work/, /! workers shop +none runs for this app/, start)
        let worker = try await deployment.worker("one")
        try await doctor(/✓ workers shop +1 worker at work/)
        for program in [deployment.gateway, worker] {
            program.signal(SIGTERM)
            _ = await program.end()
        }
        try await doctor(/! gateways +none runs, so nothing is accepted/, /→ start one: lamplighter serve/)
    }

    @Test func `a publish that waits says that no worker is there, and ends when one comes`() async throws {
        let deployment = try await Deployment.start()
        // A follower prevents the warning about a name without followers.
        _ = try await deployment.importChannels(1, name: "order-1")
        let waiting = try Program(
            [Program.path, "publish", "order-1", "--content-state", "{}", "--wait", "--json"],
            directory: deployment.directory, environment: deployment.environment)
        try await waiting.waitForLog("no worker has begun it")
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let output = try #require(await waiting.end())
        #expect(output.code == 0)
        #expect(try Ledger(output.out).state == "done")
        #expect(output.err.split(separator: "\n").count == 1)
    }

    @Test func `every token is called bad: quarantined, kept, released, delivered; then discarded, pruned`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(1_500, name: "match")
        let allDead = #"{"dead_share":1,"dead_reasons":{"BadDeviceToken":1}}"#
        try await faults(deployment.controlURL, allDead, deployment)

        let first = try await publish(deployment, "match")
        #expect(first.state == "done" && first["failed"] == 1_500 && first["pruned"] == 0)
        #expect(try await tokens(deployment, "match") == 1_500)
        #expect(try await alarms(deployment) == ["prune_guard"])
        let status = try await deployment.run("status")
        #expect(status.out.contains(/prune_guard: \d+ of \d+ answers of a push/), "\(status.out)")
        let listed = try await deployment.run("quarantine", "list")
        #expect(listed.code == 0 && listed.out.contains("match") && listed.out.contains("1,500"), "\(listed.out)")
        #expect(worker.err.contains("alarm=prune_guard"))

        try await faults(deployment.controlURL, "{}", deployment)
        let second = try await publish(deployment, "match")
        #expect(second["failed"] == 1_500 && second.errors == ["Quarantined": 1_500])
        #expect(try await deployment.record()["requests"] as? Int == 1_500, "nothing was sent to them again")

        let released = try await deployment.run("quarantine", "release", "match")
        #expect(released.code == 0 && released.out.hasPrefix("1,500 tokens of 1 names"), "\(released.out)")
        #expect(try await alarms(deployment) == [])
        #expect(try await publish(deployment, "match")["delivered"] == 1_500)

        try await faults(deployment.controlURL, allDead, deployment)
        _ = try await publish(deployment, "match")
        let discarded = try await deployment.run("quarantine", "discard", "--all", "--json")
        #expect(discarded.out.contains(#""pruned":1500"#), "\(discarded.out)\(discarded.err)")
        #expect(try await tokens(deployment, "match") == 0)
    }

    @Test func `a wrong topic stops the push at once; corrected, it goes on where it stopped`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // This key may send only for this one app.
        let key = directory + "/AuthKey_SHOPKEY001.p8"
        try await newKey("P-256").write(toFile: key, atomically: false, encoding: .utf8)
        let deployment = try await Deployment.start(
            simulator: [
                "--key-file", key, "--key-id", "SHOPKEY001", "--team-id", "SHOPTEAM01", "--bundle-id",
                "com.example.shop",
            ])
        let wrong = try await deployment.worker(
            "wrong", ["LAMPLIGHTER_APP_BUNDLE_ID": "com.example.other", "LAMPLIGHTER_WORKER_PAGE": "200"])
        _ = try await deployment.importChannels(1_000, name: "match")
        let stopped = try await publish(deployment, "match")
        #expect(stopped.state == "failed" && stopped["pruned"] == 0, "\(stopped)")
        #expect(stopped.errors["TopicDisallowed"] != nil)
        let id = stopped.fields["push_id"] as? String ?? ""
        wrong.signal(SIGTERM)
        #expect(await wrong.end()?.code == 0)
        #expect(try await tokens(deployment, "match") == 1_000)
        let listed = try await deployment.run("dead", "list")
        #expect(listed.out.contains(id) && listed.out.contains("stopped: TopicDisallowed"), "\(listed.out)")
        #expect(try await deployment.run("dead", "show", id).code == 0)

        let right = try await deployment.worker("right")
        defer { right.kill() }
        let retried = try await deployment.run("dead", "retry", id)
        #expect(retried.code == 0 && retried.out.contains("goes on where it was stopped"), "\(retried.err)")
        let ledger = try Ledger(try await deployment.run("push", id, "--wait", "--json").out)
        #expect(ledger.state == "done" && ledger["delivered"] == 1_000 && ledger.addsUp, "\(ledger)")
        #expect(try await deployment.record()["accepted"] as? Int == 1_000)
        #expect(try await deployment.run("dead", "retry", id).code == 1, "there is nothing left to retry")
        #expect(try await deployment.run("dead", "list").out == "no dead letters\n")
    }

    @Test func `an app for both environments finds where each token lives`() async throws {
        let deployment = try await Deployment.start()
        let sandbox = try Program(
            [Program.path, "simulate", "--json", "--port", "0", "--directory", deployment.directory + "/apns"],
            directory: deployment.directory, environment: [:])
        defer { sandbox.kill() }
        let announced = try await Deployment.announcement(sandbox)
        let control = announced["control_url"] ?? ""
        // Tokens 0 to 9 belong to production and 10 to 19 to the sandbox. The others belong to neither.
        func strangers(_ numbers: [Int]) -> String {
            let dead = numbers.map { #"{"prefix":"\#(Deployment.token($0))","reason":"BadDeviceToken"}"# }
            return #"{"dead_tokens":[\#(dead.joined(separator: ","))]}"#
        }
        try await faults(deployment.controlURL, strangers(Array(10..<25)), deployment)
        try await faults(control, strangers(Array(0..<10) + Array(20..<25)), deployment)
        let both = ["LAMPLIGHTER_APNS_ENVIRONMENT": "both", "LAMPLIGHTER_APNS_SANDBOX_URL": announced["url"] ?? ""]
        let checked = try await deployment.run("doctor", environment: both)
        #expect(checked.out.contains(/✓ APNs shop, sandbox .*takes the provider token/), "\(checked.out)")
        _ = try await deployment.call("POST", deployment.controlURL + "/simulator/reset", user: nil)
        _ = try await deployment.call("POST", control + "/simulator/reset", user: nil)
        let worker = try await deployment.worker("both", both)
        defer { worker.kill() }
        _ = try await deployment.importChannels(25, name: "match")

        let first = try await publish(deployment, "match")
        #expect(first["delivered"] == 20 && first["pruned"] == 5 && first["failed"] == 0)
        let second = try await publish(deployment, "match")
        #expect(second["delivered"] == 20 && second["targets"] == 20)
        let sandboxRecord = try await deployment.call("GET", control + "/simulator/record", user: nil).json
        #expect(sandboxRecord["accepted"] as? Int == 20)
        #expect(try await deployment.record()["requests"] as? Int == 35, "what lives elsewhere is asked for once")
    }

    @Test(arguments: [
        ["production", "production only", "APNs shop", "APNs shop, sandbox"],
        ["sandbox", "the sandbox only", "APNs shop, sandbox", "APNs shop"],
    ])
    func `doctor says for which environment a key is, and what to do where APNs refuses it`(
        _ row: [String]
    ) async throws {
        let (environment, words, taken, refused) = (row[0], row[1], row[2], row[3])
        let key = ["--key-environment", "SIMULATOR1=\(environment)"]
        let deployment = try await Deployment.start(simulator: key)
        let sandbox = try Program(
            [
                Program.path, "simulate", "--json", "--port", "0", "--directory", deployment.directory + "/apns",
                "--environment", "sandbox",
            ] + key,
            directory: deployment.directory, environment: [:])
        defer { sandbox.kill() }
        let announced = try await Deployment.announcement(sandbox)
        let checked = try await deployment.run(
            "doctor",
            environment: [
                "LAMPLIGHTER_APNS_ENVIRONMENT": "both", "LAMPLIGHTER_APNS_SANDBOX_URL": announced["url"] ?? "",
            ])
        #expect(checked.code == 78, "\(checked.out)\(checked.err)")
        let lines = checked.out.split(separator: "\n")
        func line(_ subject: String) -> String {
            lines.first { $0.dropFirst(2).hasPrefix(subject + "  ") }.map { String($0) } ?? ""
        }
        let which = "; key SIMULATOR1 is for \(words)"
        let good = "takes the provider token\(which)"
        #expect(line(taken).hasPrefix("✓") && line(taken).hasSuffix(good), "\(checked.out)")
        let bad = "does not accept the provider token: BadEnvironmentKeyInToken\(which)"
        #expect(line(refused).hasPrefix("✗") && line(refused).hasSuffix(bad), "\(checked.out)")
        let remedy =
            "→ the key is for the other environment: make one for this environment, check apns.environment, and with "
            + "environment both set apns.sandbox_key_id and apns.sandbox_key_file"
        #expect(checked.out.contains(remedy), "\(checked.out)")
    }
}
