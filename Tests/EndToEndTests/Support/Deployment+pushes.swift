import Foundation
import TestSupport
import Testing

/// Helpers for one large push that a test disturbs.
extension Deployment {
    /// Small pages and a slow server: each worker sends some 400 tokens a second.
    static let slowly = [
        "LAMPLIGHTER_WORKER_LANES": "1", "LAMPLIGHTER_WORKER_PAGE": "100", "LAMPLIGHTER_WORKER_CLAIM_AFTER": "2s",
    ]
    static let slow = slow(streams: 40)
    static func slow(streams: Int) -> [String] {
        ["--dead-share", "0.05", "--latency", "100", "--streams", "\(streams)"]
    }
    static let count = 4_000

    /// Publishes without waiting, and returns the push id.
    func publish(_ name: String = "match-42") async throws -> String {
        let output = try await run("publish", name, "--content-state", #"{"score":"1:0"}"#)
        #expect(output.code == 0, "\(output.err)")
        return output.out.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Publishes, waits until the push is over, and returns its ledger, also if it reached nobody.
    func published(_ name: String, _ options: [String]) async throws -> Ledger {
        let output = try await run(["publish", name, "--wait", "--json", "--fail-below", "0"] + options)
        #expect(output.code == 0, "\(output.err)")
        return try Ledger(output.out)
    }

    func ledger(_ push: String) async throws -> Ledger {
        try Ledger(try await call("GET", "\(gatewayURL)/api/push/\(push)").text)
    }

    func waitUntilUnderWay(_ push: String, of count: Int = Deployment.count) async throws {
        try await eventually("the push is under way") {
            let ledger = try await ledger(push)
            #expect(ledger.addsUp)
            return ledger["delivered"] > 200
        }
        #expect(try await ledger(push)["delivered"] < count / 2, "too fast to be disturbed")
    }

    /// Checks that every living token was reached, every dead one pruned, and that the ledger counts each once.
    func expectComplete(_ push: String, of count: Int = Deployment.count) async throws {
        let output = try await run("push", push, "--wait", "--json")
        let ledger = try Ledger(output.out)
        #expect(output.code == 0 && ledger.state == "done" && ledger.addsUp, "\(output.out)")
        let record = try await record()
        let living = record["accepted_tokens"] as? Int ?? 0
        let twice = (record["accepted"] as? Int ?? 0) - living
        #expect(ledger["duplicates_possible"] >= twice, "\(twice) were sent twice: \(output.out)")
        #expect(ledger["targets"] == count)
        #expect(ledger["delivered"] == living)
        #expect(ledger["pruned"] == count - living)
        #expect(living < count && living > count / 2)
        let activity = try await call("GET", "\(gatewayURL)/api/activities/match-42").json
        #expect(activity["tokens"] as? Int == living)
    }
}
