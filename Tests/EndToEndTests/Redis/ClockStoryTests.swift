import Foundation
import TestSupport
import Testing

/// Tests clocks that are set while a deployment runs: Redis's, forward and back, and that of one machine.
@Suite("Clocks")
struct ClockStoryTests {
    /// Longer than any test waits, so what waits for the clock to get there again never arrives. APNs takes a provider
    /// token that was signed so far ahead.
    private static let step: Duration = .seconds(840)
    private static let hour: Duration = .seconds(3_660)

    private func publish(_ deployment: Deployment, _ name: String, _ state: String = "{}") async throws -> String {
        let output = try await deployment.run("publish", name, "--content-state", state)
        #expect(output.code == 0, "\(output.err)")
        return output.out.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func untilDone(_ deployment: Deployment, _ push: String) async throws {
        try await eventually("\(push) is done") { try await deployment.ledger(push).state == "done" }
    }

    /// Publishes with the clock ahead, sets it right, and publishes again.
    private func publishesAfterStepBack(
        _ names: [String], environment: [String: String] = [:], by step: Duration = Self.step
    ) async throws {
        let clock = try TestClock()
        let deployment = try await Deployment.start(environment: environment, clock: clock)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        clock.set(ahead: step)
        for name in names {
            _ = try await deployment.importChannels(3, name: name)
            try await untilDone(deployment, try await publish(deployment, name))
        }
        clock.set(ahead: .zero)
        for name in names {
            for _ in 0..<3 {
                let push = try await publish(deployment, name)
                // The last of those that supersede each other is done.
                try await eventually("\(push) has ended") {
                    ["done", "superseded"].contains(try await deployment.ledger(push).state)
                }
            }
        }
    }

    @Test func `an update goes out at once after Redis's clock was set back`() async throws {
        try await publishesAfterStepBack(["match-1"])
    }

    @Test func `a capped app goes on after Redis's clock was set back`() async throws {
        // A cap is off by default.
        try await publishesAfterStepBack(
            ["match-1", "match-2"], environment: ["LAMPLIGHTER_DELIVERY_MAX_PER_SECOND": "2000"])
    }

    @Test func `a caller whose requests are limited is served after Redis's clock was set back`() async throws {
        let clock = try TestClock()
        // The limit is off by default. A burst is a second's.
        let deployment = try await Deployment.start(
            environment: ["LAMPLIGHTER_LIMITS_REQUESTS_PER_CREDENTIAL": "50"], clock: clock)
        let url = deployment.gatewayURL + "/api/activities/match-1"
        clock.set(ahead: Self.step)
        for _ in 0..<60 { _ = try await deployment.call("GET", url) }
        clock.set(ahead: .zero)
        // A gateway takes some requests of the bucket at once, so the first calls prove nothing.
        for call in 0..<300 {
            try await eventually("call \(call) is answered") { try await deployment.call("GET", url).status != 429 }
        }
    }

    /// Backoffs are seconds. They end after them, whatever the clock did.
    @Test func `tokens that wait for a retry are tried after Redis's clock was set back`() async throws {
        let clock = try TestClock()
        let deployment = try await Deployment.start(clock: clock)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(5, name: "match-1")
        let faults = deployment.controlURL + "/simulator/faults"
        clock.set(ahead: Self.step)
        let all = #"{"rejections":{"ServiceUnavailable":1}}"#
        #expect(try await deployment.call("POST", faults, user: nil, body: all).status == 200)
        let push = try await publish(deployment, "match-1")
        try await eventually("all wait") { try await deployment.ledger(push)["retries"] >= 5 }
        // A step back is found by who has seen the time before it. Workers look once in 750 ms.
        let stepped = Date().timeIntervalSince1970 + Double(Self.step.components.seconds) / 2
        try await eventually("the worker has seen the clock ahead") {
            // By adding 0, the time is read as one line.
            let seen = try deployment.redis.command("HINCRBY ll:{q}:clock seen 0").dropFirst()
            return Double(seen).map { $0 > stepped * 1_000 } == true
        }
        clock.set(ahead: .zero)
        #expect(try await deployment.call("POST", faults, user: nil, body: "{}").status == 200)
        try await untilDone(deployment, push)
        try await eventually("the log names the step") { worker.err.contains("Redis's clock was set back") }
    }

    @Test func `a worker whose machine's clock is an hour wrong sends, and the difference is named`() async throws {
        let deployment = try await Deployment.start()
        for (ahead, words) in [(Self.hour, "3,660 s ahead of"), (.zero - Self.hour, "3,660 s behind")] {
            let clock = try TestClock()
            clock.set(ahead: ahead)
            let worker = try await deployment.worker("wrong", clock.environment)
            let name = "match-\(words.prefix(5))-\(words.hasSuffix("of"))"
            _ = try await deployment.importChannels(3, name: name)
            try await untilDone(deployment, try await publish(deployment, name))
            try await eventually("the log and the alarm name the difference") {
                let status = try await deployment.run("status")
                return worker.err.contains("this machine's clock is \(words) Redis's")
                    && status.out.contains("clock: worker wrong: this machine's clock is \(words) Redis's")
            }
            #expect(!worker.err.contains("alarm=credentials"))
            let doctor = try await deployment.run("doctor", environment: clock.environment)
            #expect(doctor.out.contains("this machine's clock is \(words) Redis's"), "\(doctor.out)")
            #expect(doctor.out.contains("✓ APNs shop "), "\(doctor.out)")
            worker.kill()
        }
    }

    /// APNs takes no token from the future. The work is kept, and goes on when Redis's clock is right.
    @Test func `with Redis's clock an hour ahead sends halt, and go on once it is right`() async throws {
        let clock = try TestClock()
        let deployment = try await Deployment.start(clock: clock)
        clock.set(ahead: Self.hour)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(3, name: "match-1")
        let push = try await publish(deployment, "match-1")
        try await eventually("both alarms say why") {
            let status = try await deployment.run("status")
            return status.out.contains("credentials: ")
                && status.out.contains("clock: worker one: this machine's clock is 3,660 s behind Redis's")
        }
        clock.set(ahead: .zero)
        try await untilDone(deployment, push)
        try await eventually("the alarms end") {
            let status = try await deployment.run("status").out
            return !status.contains("credentials: ") && !status.contains("clock: ")
        }
    }

    /// Its `iat` is Redis's, so beside good workers it neither delays what it takes nor replaces their token.
    @Test func `beside good workers one with a wrong clock uses their provider token`() async throws {
        let deployment = try await Deployment.start()
        let clock = try TestClock()
        clock.set(ahead: Self.hour)
        let workers = [try await deployment.worker("good"), try await deployment.worker("wrong", clock.environment)]
        defer { for worker in workers { worker.kill() } }
        for number in 0..<6 {
            _ = try await deployment.importChannels(20, name: "match-\(number)")
            try await untilDone(deployment, try await publish(deployment, "match-\(number)"))
        }
        let record = try await deployment.record()
        #expect(record["provider_tokens"] as? Int == 1)
    }
}
