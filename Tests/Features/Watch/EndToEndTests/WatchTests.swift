import Foundation
import TestSupport
import Testing

/// `lamplighter watch`, with a whole deployment.
struct WatchTests {
    @Test func `without a terminal, watch prints page after page, and JSON line after line`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        let text = try watch(deployment)
        // The page says what is missing.
        try await eventually("the page names the missing worker") {
            text.out.contains("✗ no worker sends a heartbeat: start 'lamplighter work'")
        }
        let worker = try await deployment.worker("seen")
        #expect(try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait").code == 0)
        try await eventually("the worker's heartbeat has the token") {
            text.out.split(separator: "\n").contains { line in
                let words = line.split(separator: " ")
                return line.hasPrefix("seen-") && words.count > 5 && words[5] == "1"
            }
        }
        text.signal(SIGTERM)
        #expect(await text.end(within: .seconds(60)) != nil)

        let json = try watch(deployment, "--json")
        try await eventually("two lines of JSON") { json.out.split(separator: "\n").count > 2 }
        let line = try #require(json.out.split(separator: "\n").first)
        let page = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let workers = try #require(page["workers"] as? [[String: Any]])
        #expect((workers.first?["name"] as? String)?.hasPrefix("seen-") == true)
        #expect((page["apps"] as? [[String: Any]])?.first?["key"] as? String == "shop")
        json.kill()

        // A worker that ends in order takes its heartbeat with it; a killed one leaves it.
        worker.signal(SIGTERM)
        #expect(await worker.end(within: .seconds(60))?.code == 0)
        let after = try watch(deployment)
        let killed = try await deployment.worker("killed")
        try await eventually("the second worker's heartbeat") { after.out.contains("killed-") }
        killed.kill()
        try await eventually("the killed worker is told of, the other is gone") {
            let last = after.out.components(separatedBy: "lamplighter  ").last ?? ""
            return last.contains("killed-") && last.contains("no worker sends a heartbeat") && !last.contains("seen-")
        }
        after.kill()
    }

    @Test func `an interval has bounds`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("watch", "--interval", "0").code == 64)
    }

    @Test func `watch ends with its output`() async throws {
        let deployment = try await Deployment.start()
        for line in ["watch --json >/dev/full; echo $? >&2", "{ watch --json; echo $? >&2; } | true"] {
            let program = try Program(
                ["sh", "-c", "watch() { \(Program.path) watch \"$@\"; }\n\(line)"], directory: deployment.directory,
                environment: deployment.environment)
            let output = try #require(await program.end(within: .seconds(600)), "\(line) does not end")
            #expect(output.err.hasSuffix(line.hasPrefix("watch") ? "left on device\n1\n" : "0\n"), "\(output)")
        }
    }

    private func watch(_ deployment: Deployment, _ more: String...) throws -> Program {
        try Program(
            [Program.path, "watch", "--interval", "0.5"] + more, directory: deployment.directory,
            environment: deployment.environment)
    }
}
