import Foundation
import Synchronization
import TestSupport
import Testing

/// A credential's secret is replaced while a publisher works with it.
@Suite struct RotationStoryTests {
    /// The requests of the clients, and their answers.
    private final class Publishers: Sendable {
        struct State {
            var secret: String
            var isOver = false
            /// By status.
            var answers: [Int: Int] = [:]
            /// The first text of another answer than expected.
            var surprise: String?
        }

        private let state: Mutex<State>

        init(_ secret: String) { state = Mutex(State(secret: secret)) }

        var now: State { state.withLock { $0 } }
        func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

        func got(_ status: Int, _ text: String) {
            set { state in
                state.answers[status, default: 0] += 1
                if status != 202 { state.surprise = state.surprise ?? text }
            }
        }

        func waitForMore(_ count: Int) async throws {
            let before = now.answers[202] ?? 0
            try await eventually("more publishes") { (now.answers[202] ?? 0) >= before + count }
        }
    }

    private struct Made: Decodable { var secret: String }

    private func secret(_ output: Program.Output) throws -> String {
        try #require(output.code == 0, "\(output.err)")
        return try JSONDecoder().decode(Made.self, from: Data(output.out.utf8)).secret
    }

    @Test func `a secret is rotated under load without one failed request, at two gateways`() async throws {
        let deployment = try await Deployment.start()
        let second = try Program(
            [Program.path, "serve", "--port", "0"], directory: deployment.directory,
            environment: deployment.environment)
        defer { second.kill() }
        try await second.waitForLog("url=http")
        let urls = [deployment.gatewayURL, second.err.firstMatch(of: /url=(http\S+)/).map { String($0.1) } ?? ""]
        let create = ["credential", "create", "feed", "--scopes", "publish,read", "--name-prefix", "match-", "--json"]
        let first = try secret(try await deployment.run(create))
        let publishers = Publishers(first)
        try await withThrowingTaskGroup(of: Void.self) { clients in
            for client in 0..<8 {
                clients.addTask {
                    var number = 0
                    while !publishers.now.isOver {
                        number += 1
                        let body = Deployment.push(
                            "match-\(client)", #""all""#, #""event":"update","content_state":{"n":\#(number)}"#)
                        let answer = try await deployment.call(
                            "POST", urls[number % 2] + "/api/push", user: "shop:\(publishers.now.secret)", body: body)
                        publishers.got(answer.status, answer.text)
                    }
                }
            }
            try await publishers.waitForMore(50)
            var secrets = [first]
            for round in 0..<3 {
                // The clients go on with the old secret, then take the new one at once, at either gateway.
                let made = try secret(try await deployment.run(["credential", "rotate", "feed", "--json"]))
                #expect(!secrets.contains(made))
                secrets.append(made)
                if round < 2 { try await publishers.waitForMore(30) }
                publishers.set { $0.secret = made }
                try await publishers.waitForMore(50)
            }
            publishers.set { $0.isOver = true }
            try await clients.waitForAll()
            let result = publishers.now
            #expect(result.answers.keys.sorted() == [202], "\(result.answers): \(result.surprise ?? "")")
            let last = secrets[3]
            // A command takes a credential's secret, too, and learns what it may not.
            let environment = ["LAMPLIGHTER_APP_MASTER_SECRET": last]
            let history = try await deployment.run("history", "match-1", environment: environment)
            #expect(history.code == 0 && history.out.contains("match-1"), "\(history.err)")
            let pause = try await deployment.run("pause", "match-1", environment: environment)
            #expect(pause.code != 0 && pause.err.contains("lacks the scope operate"), "\(pause.err)")
            #expect(try await deployment.run("credential", "revoke", "feed").code == 0)
            for url in urls {
                try await eventually("\(url) knows of the revocation") {
                    try await deployment.call("GET", url + "/api/pushes?name=match-1", user: "shop:\(last)").status
                        == 401
                }
            }
            let log = try await deployment.run("actions", "--json").out
            #expect(log.contains("rotate_credential") && log.contains("revoke_credential"))
            for secret in secrets {
                for text in [log, deployment.gateway.err, second.err] { #expect(!text.contains(secret)) }
            }
        }
    }
}
