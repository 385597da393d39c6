import Foundation
import Store
import TestSupport
import Testing

/// Tests what a process does when another version has written what is stored.
@Suite("Another format")
struct FormatStoryTests {
    /// The first line of Redis's reply with a number.
    private func line(_ number: Int) -> String { "$\("\(number)".utf8.count)" }

    private func format(_ deployment: Deployment, _ value: String) throws {
        #expect(try deployment.redis.command("HSET ll:meta format \(value)").first == ":")
    }

    @Test func `processes that run stop, those that start refuse, and what was accepted is sent later`() async throws {
        let deployment = try await Deployment.start()
        #expect(try deployment.redis.command("HGET ll:meta format") == line(StoredFormat.current))
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
                output.err.contains("Redis holds format \(StoredFormat.current + 1), of a newer Lamplighter"),
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

    @Test func `what an older version stored is refused, and the remedy is told`() async throws {
        let deployment = try await Deployment.start()
        let older = StoredFormat.current - 1
        try format(deployment, "\(older)")
        for command in ["serve --port 0", "work", "status", "doctor"] {
            let refused = try await deployment.run(command.split(separator: " ").map(String.init))
            #expect(refused.code == 78, "\(command): \(refused.out)\(refused.err)")
            let text = refused.out + refused.err
            #expect(text.contains("format \(older), of an older Lamplighter"), "\(command): \(text)")
            #expect(text.contains("make a backup with that version"), "\(command): \(text)")
        }
        #expect(try deployment.redis.command("HGET ll:meta format") == line(older))
    }

    @Test func `an empty Redis has no format yet, and a number that is none is named`() async throws {
        let deployment = try await Deployment.start()
        #expect(try deployment.redis.command("HDEL ll:meta format") == ":1")
        let doctor = try await deployment.run("doctor")
        #expect(doctor.out.contains("none yet; the first start writes \(StoredFormat.current)"), "\(doctor.out)")
        let worker = try await deployment.worker("one")
        worker.kill()
        #expect(try deployment.redis.command("HGET ll:meta format") == line(StoredFormat.current))
        try format(deployment, "new")
        let refused = try await deployment.run("work")
        #expect(refused.code == 1 && refused.err.contains("format number in ll:meta"), "\(refused.err)")
    }
}
