import Foundation
import TestSupport
import Testing

/// A webhook as an operator sets it up, with every process.
@Suite("What a webhook is told")
struct WebhookDeploymentTests {
    private func environment(_ receiver: HTTPSReceiver, _ extra: [String: String] = [:]) -> [String: String] {
        [
            "LAMPLIGHTER_EVENTS_KEEP": "1000", "LAMPLIGHTER_APP_WEBHOOK_URL": receiver.url,
            "LAMPLIGHTER_APP_WEBHOOK_SECRET": "hook-secret-0123456789",
            "LAMPLIGHTER_APP_WEBHOOK_CA_FILE": receiver.caFile, "LAMPLIGHTER_APP_WEBHOOK_ALLOW_PRIVATE": "true",
        ].merging(extra) { $1 }
    }

    @Test func `a push reaches the webhook as it is in the stream`() async throws {
        let receiver = try HTTPSReceiver()
        let deployment = try await Deployment.start(environment: environment(receiver))
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(3, name: "match-1")
        let published = try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait", "--json")
        #expect(published.code == 0, "\(published.err)")
        try await eventually("the webhook has it") { receiver.requests.count == 1 }
        let request = receiver.requests[0]
        #expect(request.text.contains(#""type":"done","app":"shop""#) && request.text.contains(#""delivered":3"#))
        #expect(request.headers["lamplighter-signature"]?.hasPrefix("v1=") == true)
        let listed = try await deployment.run("events", "--all", "--no-follow", "--json")
        #expect(listed.code == 0 && request.text.contains(listed.out.trimmingCharacters(in: .newlines)))
    }

    @Test func `a test event shows the answer, and a failing webhook shows in status until it is retried`()
        async throws
    {
        let receiver = try HTTPSReceiver { _ in .status(202, body: Array("thanks".utf8)) }
        let deployment = try await Deployment.start(environment: environment(receiver))
        let good = try await deployment.run("events", "test")
        #expect(
            good.code == 0 && good.out.contains("HTTP 202") && good.out.contains("thanks"), "\(good.out)\(good.err)")
        #expect(receiver.requests.count == 1 && receiver.requests[0].text.contains(#""type":"test""#))
        receiver.answer { _ in .status(500) }
        let bad = try await deployment.run("events", "test", "--json")
        #expect(bad.code == 1 && bad.out.contains(#""accepted":false"#) && bad.out.contains(#""status":500"#))
        let refused = try await deployment.run(
            "events", "test", environment: ["LAMPLIGHTER_APP_WEBHOOK_ALLOW_PRIVATE": "false"])
        #expect(refused.code == 1 && refused.out.contains("not a public address"), "\(refused.out)")

        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(1, name: "match-1")
        _ = try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait")
        try await eventually("status shows it") {
            try await deployment.run("status").out.contains("the webhook does not take events: HTTP 500")
        }
        let json = try await deployment.run("status", "--json")
        #expect(json.out.contains(#""reason":"HTTP 500""#), "\(json.out)")
        #expect(worker.err.contains("the webhook does not take events") && !worker.err.contains("/hook"))
    }

    @Test func `dead events are listed, retried and discarded`() async throws {
        let receiver = try HTTPSReceiver { $0.text.contains("poison") ? .status(422) : .accepted }
        let deployment = try await Deployment.start(environment: environment(receiver))
        let none = try await deployment.run("events", "dead")
        #expect(none.code == 0 && none.out == "no dead events\n", "\(none.out)\(none.err)")
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for name in ["poison", "match-1"] {
            _ = try await deployment.importChannels(1, name: name)
            _ = try await deployment.run("publish", name, "--content-state", "{}")
            // The other one must be behind it, because an event is given up only when a later one is accepted.
            try await eventually("\(name) is tried") { receiver.requests.contains { $0.text.contains(name) } }
        }
        try await eventually("it is given up") {
            try await deployment.run("events", "dead").out.contains("HTTP 422")
        }
        let dead = try await deployment.run("events", "dead")
        let row = try #require(dead.out.split(separator: "\n").last?.split(separator: " ").map(String.init))
        #expect(row.contains("done") && row.contains("poison"), "\(dead.out)")
        let status = try await deployment.run("status")
        #expect(status.out.contains("1 events were given up ('lamplighter events dead')"), "\(status.out)")
        receiver.answer { _ in .accepted }
        let retried = try await deployment.run("events", "retry", row[0])
        #expect(retried.code == 0 && retried.out == "1 events wait for the webhook again\n", "\(retried.err)")
        try await eventually("it is delivered") { receiver.requests.last?.text.contains("poison") == true }
        let discarded = try await deployment.run("events", "discard", "--all")
        #expect(discarded.code == 0 && discarded.out == "0 events are deleted\n")
        #expect(try await deployment.run("events", "retry").code == 64)
    }

    @Test func `kill -9 of a worker loses no event`() async throws {
        let receiver = try HTTPSReceiver()
        let deployment = try await Deployment.start(
            environment: environment(
                receiver,
                [
                    "LAMPLIGHTER_WORKER_CLAIM_AFTER": "2s",
                    "LAMPLIGHTER_APP_WEBHOOK_EVENTS": "done,failed,cancelled,expired,superseded",
                ]))
        let workers = [try await deployment.worker("one"), try await deployment.worker("two")]
        defer { for worker in workers { worker.kill() } }
        _ = try await deployment.importChannels(5, name: "match-1")
        var ids: [String] = []
        for number in 0..<40 {
            let published = try await deployment.run("publish", "match-1", "--content-state", "{}", "--json")
            let id = try #require(published.out.firstMatch(of: /"push_ids":\["([^"]+)"/)).output.1
            ids.append(String(id))
            if number == 20 { workers[0].signal(SIGKILL) }
        }
        try await eventually("all are told") {
            let told = receiver.requests.map(\.text).joined()
            return ids.allSatisfy { told.contains("\"\($0).1\"") }
        }
    }

    @Test func `doctor asks the webhook's server without an event`() async throws {
        let receiver = try HTTPSReceiver()
        let deployment = try await Deployment.start(
            environment: environment(receiver, ["LAMPLIGHTER_APP_WEBHOOK_ALLOW_PRIVATE": "false"]))
        func doctor(_ change: [String: String], _ lines: Regex<Substring>...) async throws {
            let checked = try await deployment.run("doctor", environment: change)
            #expect(checked.code == 0, "\(checked)")
            for line in lines { #expect(checked.out.contains(line), "\(checked.out)") }
        }
        try await doctor(
            [:],
            /! webhook shop +localhost:\d+: the name leads to (?:127\.0\.0\.1|::1), which is not a public address/,
            /→ webhook\.allow_private: true/)
        #expect(receiver.requests.isEmpty)
        try await doctor(
            ["LAMPLIGHTER_APP_WEBHOOK_ALLOW_PRIVATE": "true"], /✓ webhook shop +localhost:\d+ answers/)
        #expect(receiver.requests.map(\.line) == ["HEAD /hook HTTP/1.1"])
    }
}
