import Foundation
import TestSupport
import Testing

/// Tests a name that grows during a push, as at a kick-off. Entries move between buckets while each sweep reads them.
@Suite("A name that grows")
struct GrowthTests {
    /// Requests must be able to wait while the simulator is stopped.
    private static let patient = [
        "LAMPLIGHTER_WORKER_LANES": "1", "LAMPLIGHTER_WORKER_PAGE": "100",
        "LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "200s",
    ]

    @Test func `from 1 to 30,000 tokens during pushes: each channel that follows before their end gets each once`()
        async throws
    {
        let deployment = try await Deployment.start(simulator: ["--latency", "20", "--streams", "100"])
        let worker = try await deployment.worker("one", Self.patient)
        defer { worker.kill() }
        #expect(try await deployment.importChannels(1, name: "match-42").code == 0)
        // Stop the simulator: otherwise a single token gets its push before the other channels register.
        deployment.simulator.signal(SIGSTOP)
        let first = try await deployment.grow(to: 4_000) { ledger in ledger.state == "sending" }
        // The sweep is in the middle of its shards, so their buckets divide before, at and after their checkpoints.
        // Each bucket divides three times.
        let second = try await deployment.grow(to: 30_000) { ledger in ledger["delivered"] > 200 }
        #expect(second.atGrowth["delivered"] < 4_000, "too fast to be disturbed")
        let record = try await deployment.record()
        #expect(record["accepted_tokens"] as? Int == 30_000)
        #expect(record["accepted"] as? Int == 34_000 && record["duplicates"] as? Int == 0)
        #expect(first.end["delivered"] == 4_000 && second.end["delivered"] == 30_000)
        #expect(first.end["targets"] == 4_000 && second.end["targets"] == 30_000)
        #expect(first.end.state == "done" && second.end.state == "done")
        print("delivered when the name began to grow: \(second.atGrowth["delivered"]) of 4000")
    }
}

extension Deployment {
    /// Publishes, and lets the name grow while APNs is stopped in the middle of the push. Returns the ledger from
    /// then and the last one.
    fileprivate func grow(
        to count: Int, when isUnderWay: (Ledger) -> Bool
    ) async throws -> (atGrowth: Ledger, end: Ledger) {
        let push = try await publish()
        var atGrowth = try await ledger(push)
        try await eventually("the push is under way") {
            atGrowth = try await ledger(push)
            return isUnderWay(atGrowth)
        }
        simulator.signal(SIGSTOP)
        let imported = try await importChannels(count, name: "match-42")
        simulator.signal(SIGCONT)
        #expect(imported.code == 0, "\(imported.err)")
        return (atGrowth, try Ledger(try await run("push", push, "--wait", "--json").out))
    }
}
