import Foundation
import Store
import TestSupport
import Testing

/// Tests what a process does when a newer version has changed the format of what is stored.
@Suite("A newer format")
struct FormatStoryTests {
    private func format(_ deployment: Deployment, _ value: String) throws {
        #expect(try deployment.redis.command("HSET ll:meta format \(value)").first == ":")
    }

    @Test func `processes that run stop, those that start refuse, and what was accepted is sent later`() async throws {
        let deployment = try await Deployment.start()
        #expect(try deployment.redis.command("HGET ll:meta format") == "$1")
        let worker = try await deployment.worker("old", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { worker.kill() }
        #expect(try await deployment.importChannels(20, name: "match").code == 0)
        worker.signal(SIGSTOP)
        #expect(try await deployment.run("publish", "match", "--content-state", "{}").code == 0)

        try format(deployment, "\(StoredFormat.current + 1)")
        worker.signal(SIGCONT)
        let gateway = try #require(await deployment.gateway.end(within: .seconds(120)))
        let stopped = try #require(await worker.end(within: .seconds(120)))
        for output in [gateway, stopped] {
            #expect(output.code == 78, "\(output.err)")
            #expect(
                output.err.contains(
                    "a newer Lamplighter changed what Redis holds to format \(StoredFormat.current + 1)"),
                "\(output.err)")
        }
        for command in ["serve --port 0", "work", "status", "doctor", "events --no-follow"] {
            let words = command.split(separator: " ").map(String.init)
            let refused = try await deployment.run(words, environment: ["LAMPLIGHTER_EVENTS_KEEP": "10"])
            #expect(refused.code == 78, "\(command): \(refused.out)\(refused.err)")
            let text = refused.out + refused.err
            #expect(text.contains("a newer Lamplighter"), "\(command): \(text)")
        }

        try format(deployment, "\(StoredFormat.current)")
        let next = try await deployment.worker("next")
        defer { next.kill() }
        try await eventually("the alarm shows, and the push is sent") {
            let status = try await deployment.run("status")
            let received = try await deployment.call("GET", deployment.controlURL + "/simulator/record", user: nil)
            return status.out.contains("newer_format: ") && received.json["accepted_tokens"] as? Int == 20
        }
    }

    /// Publishes to new names until the gateway has looked at the format, which it does every ten seconds.
    /// - Returns: the first push that is lone, or that is not, and its name.
    private func push(_ deployment: Deployment, isLone: Bool) async throws -> (id: String, name: String) {
        var (number, name, id) = (0, "", "")
        try await eventually("the gateway has looked again") {
            number += 1
            name = "\(isLone ? "lone" : "own")-\(number)"
            let published = try await deployment.run("publish", name, "--content-state", "{}", "--json")
            let ids = published.out.firstMatch(of: /"push_ids":\["([^"]+)"/)
            id = String(try #require(ids, "\(published.out)\(published.err)").1)
            return try deployment.redis.command("HEXISTS ll:n:{shop:\(name)} lone") == (isLone ? ":1" : ":0")
        }
        return (id, name)
    }

    @Test func `an upgraded deployment keeps its format until it is raised`() async throws {
        let deployment = try await Deployment.start()
        try format(deployment, "1")
        let before = try await push(deployment, isLone: false)
        let told = try await deployment.run("format")
        #expect(told.code == 0 && told.out.hasPrefix("format 1;") && told.out.contains("--raise"), "\(told.out)")
        let doctor = try await deployment.run("doctor")
        #expect(doctor.out.contains("lamplighter format --raise"), "\(doctor.out)")
        let raised = try await deployment.run("format", "--raise")
        #expect(raised.code == 0 && raised.out.hasPrefix("raised from 1 to \(StoredFormat.current)"), "\(raised.out)")
        let json = try await deployment.run("format", "--json")
        #expect(json.out.contains(#""format":\#(StoredFormat.current)"#), "\(json.out)")
        let after = try await push(deployment, isLone: true)
        // Pushes from before and after wait for the same worker.
        for push in [before, after] {
            #expect(try await deployment.importChannels(20, name: push.name).code == 0)
        }
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for push in [before, after] {
            let ledger = try Ledger(try await deployment.run("push", push.id, "--wait", "--json").out)
            #expect(ledger["delivered"] == 20 && ledger["pending"] == 0, "\(ledger.fields)")
        }
    }

    @Test func `a deployment from before formats gets a number, and a number that is none is named`() async throws {
        let deployment = try await Deployment.start()
        #expect(try deployment.redis.command("HDEL ll:meta format") == ":1")
        let worker = try await deployment.worker("one")
        worker.kill()
        #expect(try deployment.redis.command("HGET ll:meta format") == "$1")
        try format(deployment, "new")
        let refused = try await deployment.run("work")
        #expect(refused.code == 1 && refused.err.contains("format number in ll:meta"), "\(refused.err)")
    }
}
