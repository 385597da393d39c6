import Foundation
import TestSupport
import Testing

/// Tests several workers and the ways in which they end. The simulator answers slowly here, so that a push lasts
/// long enough for faults.
@Suite("A fleet")
struct FleetTests {
    private static let slowly = Deployment.slowly
    private static let slow = Deployment.slow
    /// For workers that must not lose a lease.
    private static let slowlyAlive = slowly.merging(["LAMPLIGHTER_WORKER_CLAIM_AFTER": "30s"]) { $1 }
    private static let count = Deployment.count

    @Test func `two workers each settle a part, each token exactly once`() async throws {
        let deployment = try await Deployment.start(simulator: Self.slow)
        let workers = [
            try await deployment.worker("one", Self.slowlyAlive), try await deployment.worker("two", Self.slowlyAlive),
        ]
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.expectComplete(push)
        let record = try await deployment.record()
        #expect(record["accepted"] as? Int == record["accepted_tokens"] as? Int)
        var total = 0
        for worker in workers {
            worker.signal(SIGTERM)
            let output = try #require(await worker.end())
            #expect(output.code == 0)
            let delivered =
                output.err.matches(of: /settled since the start delivered=(\d+)/).last.flatMap { Int($0.1) } ?? 0
            let pruned = output.err.matches(of: /pruned=(\d+)/).last.flatMap { Int($0.1) } ?? 0
            #expect(delivered > 0, "one worker did everything: \(output.err)")
            total += delivered + pruned
        }
        #expect(total == Self.count)
    }

    @Test func `killed with -9 in mid-push, one worker's part is finished by the other`() async throws {
        let deployment = try await Deployment.start(simulator: Deployment.slow(streams: 400))
        let count = 20_000
        let faster = Self.slowly.merging(["LAMPLIGHTER_WORKER_PAGE": "300"]) { _, own in own }
        let victim = try await deployment.worker("victim", faster)
        let heir = try await deployment.worker("heir", faster)
        defer { heir.kill() }
        #expect(try await deployment.importChannels(count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push, of: count)
        victim.signal(SIGKILL)
        #expect(await victim.end()?.code == 128 + SIGKILL)
        try await deployment.expectComplete(push, of: count)
        // Only the killed worker's open pages may be sent twice. It has four parts with four pages each, and a page of
        // whole buckets may hold one bucket of 128 tokens more.
        let record = try await deployment.record()
        let twice = (record["accepted"] as? Int ?? 0) - (record["accepted_tokens"] as? Int ?? 0)
        #expect((0...4 * 4 * (300 + 128)).contains(twice))
        print("after kill -9: \(twice) of \(count) tokens were sent to twice")
    }

    @Test func `suspended in mid-push, a worker loses its part to the other, and begins nothing of it when it wakes`()
        async throws
    {
        let deployment = try await Deployment.start(simulator: Self.slow)
        let sleeper = try await deployment.worker("sleeper", Self.slowly)
        let heir = try await deployment.worker("heir", Self.slowly)
        defer { heir.kill() }
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        sleeper.signal(SIGSTOP)
        try await deployment.expectComplete(push)
        let before = try await deployment.record()
        let ledger = try await deployment.ledger(push)
        sleeper.signal(SIGCONT)
        // The worker has resumed when it ends as asked. By then it has handled all that it had claimed.
        sleeper.signal(SIGTERM)
        #expect(await sleeper.end()?.code == 0)
        let after = try await deployment.record()
        let late = (after["accepted"] as? Int ?? 0) - (before["accepted"] as? Int ?? 0)
        // These requests were in its connection's queue, which has at most as many as it has streams. Each
        // request checks the lease.
        #expect((0...40).contains(late))
        print("after SIGSTOP: \(late) requests came late from the worker that woke")
        let unchanged = try await deployment.ledger(push)
        #expect(unchanged.fields["delivered"] as? Int == ledger["delivered"] && unchanged.addsUp)
    }

    @Test func `SIGTERM in mid-push: pages in flight are settled, exit 0, and nothing is sent twice`() async throws {
        let deployment = try await Deployment.start(simulator: Self.slow)
        // The heir claims after this time what the leaver hands back. Its own leases are to last, too.
        let steady = Self.slowly.merging(["LAMPLIGHTER_WORKER_CLAIM_AFTER": "10s"]) { $1 }
        let leaver = try await deployment.worker("leaver", steady)
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        leaver.signal(SIGTERM)
        let output = try #require(await leaver.end(within: .seconds(26)))
        #expect(output.code == 0, "\(output.err)")
        let left = try await deployment.ledger(push)
        #expect(left.state == "sending" && left["pending"] == 0 && left["targets"] < Self.count)
        let heir = try await deployment.worker("heir", steady)
        defer { heir.kill() }
        try await deployment.expectComplete(push)
        let record = try await deployment.record()
        #expect(record["accepted"] as? Int == record["accepted_tokens"] as? Int)
    }

    @Test func `a second SIGTERM ends at once and loses nothing`() async throws {
        let deployment = try await Deployment.start(simulator: Self.slow)
        let patient = Self.slowly.merging(["LAMPLIGHTER_WORKER_REQUEST_TIMEOUT": "60s"]) { $1 }
        let worker = try await deployment.worker("hasty", patient)
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        // APNs stops answering. With pages in flight, the first signal waits for the drain.
        let faults = deployment.controlURL + "/simulator/faults"
        #expect(try await deployment.call("POST", faults, user: nil, body: #"{"stall_share":1}"#).status == 200)
        worker.signal(SIGTERM)
        try await worker.waitForLog("a second signal ends at once")
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 128 + SIGTERM)
        #expect(try await deployment.call("POST", faults, user: nil, body: #"{"dead_share":0.05}"#).status == 200)
        let heir = try await deployment.worker("heir", Self.slowly)
        defer { heir.kill() }
        try await deployment.expectComplete(push)
    }

    @Test func `Redis killed with -9 and started again in mid-push: nothing that was accepted is lost`() async throws {
        let deployment = try await Deployment.start(simulator: Self.slow, append: true)
        let worker = try await deployment.worker("one", Self.slowly)
        defer { worker.kill() }
        #expect(try await deployment.importChannels(Self.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        try await deployment.redis.restart()
        try await eventually("the gateway answers again") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        try await deployment.expectComplete(push)
    }
}
