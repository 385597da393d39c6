import Foundation
import TestSupport
import Testing

/// The calls of a backend in the languages of Clients/Backends. A language that is not installed is left out.
/// `bin/clients` makes them through a proxy that misbehaves.
@Suite("Backends") struct BackendClientTests {
    private static let commands = [
        "python3": "python3 Clients/Backends/lamplighter.py", "node": "node Clients/Backends/lamplighter.mjs",
        "go": "go run Clients/Backends/lamplighter.go",
    ]

    @Test func `a backend gets a device its token, publishes once and ends`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let settings = [
            "LAMPLIGHTER_GATEWAY_URL=\(deployment.gatewayURL)", "LAMPLIGHTER_APP_KEY=shop",
            "LAMPLIGHTER_APP_SECRET=shop-secret", "LAMPLIGHTER_APP_MASTER_SECRET=shop-master",
            // Go compiles its library once, and a command of a test has no home.
            "GOCACHE='\(Repository.root.path)/.build/go'",
        ].joined(separator: " ")
        var tried = 0
        for (tool, command) in Self.commands.sorted(by: { $0.key < $1.key }) {
            guard try await deployment.shell("command -v \(tool)").code == 0 else { continue }
            tried += 1
            func run(_ arguments: String) async throws -> String {
                let output = try await deployment.shell(
                    "cd '\(Repository.root.path)' && \(settings) \(command) \(arguments)")
                #expect(output.code == 0, "\(tool) \(arguments): \(output.out)\(output.err)")
                return output.out
            }
            func id(_ text: String) throws -> String {
                try String(#require(text.firstMatch(of: /[0-9a-f]{8}-[0-9a-f-]{27}(?="?\]|\n)/), "\(tool): \(text)").0)
            }
            let (name, number) = ("match-\(tool)", tried)
            let token = try await run("token \(Deployment.channel(number))")
            let jwt = try #require(token.firstMatch(of: /eyJ[\w-]+\.[\w-]+\.[\w-]+/), "\(tool): \(token)").0
            let path = "\(deployment.gatewayURL)/api/activities/\(name)/channels/\(Deployment.channel(number))"
            let followed = try await deployment.shell(
                "curl -sf -X PUT -H 'Authorization: Bearer \(jwt)' -H 'X-UA-Appkey: shop' '\(path)' "
                    + "-d '{\"token\":\"\(Deployment.token(number))\"}'")
            #expect(followed.out.contains("result"), "\(tool): \(followed.out)")
            let publish = "publish \(name) '{\"by\":\"\(tool)\"}' '\(tool)/1'"
            let first = try id(try await run(publish))
            #expect(try id(try await run(publish)) == first, "\(tool): the same key is the same push")
            try await eventually("\(tool): it is sent") { try await deployment.ledger(first).state == "done" }
            let shown = try await deployment.received(Deployment.token(number))["content_state"] as? [String: Any]
            #expect(shown?["by"] as? String == tool)
            let end = try id(try await run("end \(name) '{\"by\":\"\(tool)\"}' '\(tool)/end'"))
            try await eventually("\(tool): it ends") { try await deployment.ledger(end).state == "done" }
        }
        #expect(tried >= 1)
        // A refusal is not repeated, and has the gateway's words.
        let refused = try await deployment.shell(
            "cd '\(Repository.root.path)' && \(settings) \(Self.commands["python3"] ?? "") publish match-1 '[]' x")
        #expect(refused.code != 0 && refused.err.contains("content_state"))
    }
}
