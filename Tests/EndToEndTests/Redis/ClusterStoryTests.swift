import Foundation
import TestSupport
import Testing

/// Tests a Redis Cluster with three primaries and a replica each: gateway, workers and commands, and
/// a primary that dies.
@Suite("Redis Cluster")
struct ClusterStoryTests {
    @Test func `names on every node are served, also when the node of the streams is killed`() async throws {
        let cluster = try await ClusterServers.start(replicated: true, append: true)
        let deployment = try await Deployment.start(
            simulator: Deployment.slow,
            environment: ["LAMPLIGHTER_REDIS_URL": "\(cluster.url)", "LAMPLIGHTER_REDIS_WAIT_REPLICAS": "1"])
        let worker = try await deployment.worker("one", Deployment.slowly)

        // With nine names, every node almost certainly has one.
        var owners: Set<Int> = []
        for number in 0..<9 {
            let name = "order-\(number)"
            owners.insert(try await cluster.primary(of: "{shop:\(name)}").port ?? 0)
            let (channel, token) = (Deployment.channel(100_000 + number), Deployment.token(100_000 + number))
            #expect(try await deployment.run("track", name, channel, token).code == 0)
            let published = try await deployment.run("publish", name, "--content-state", "{}", "--wait", "--json")
            let ledger = try Ledger(published.out)
            #expect(published.code == 0 && ledger.state == "done" && ledger.addsUp, "\(published.err)")
            #expect(ledger["targets"] == 1)
        }
        #expect(owners.count == 3)
        let doctor = try await deployment.run("doctor")
        #expect(doctor.out.contains("redis+cluster://") && doctor.out.contains("✓ Redis failover"), "\(doctor.out)")
        #expect(try await deployment.run("status").code == 0)

        #expect(try await deployment.importChannels(Deployment.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        // Kill the node of the streams. It may also be the node of the name.
        let killed = try await cluster.primary(of: "{q}")
        killed.signal(SIGKILL)
        try await eventually("the gateway is ready again", within: .seconds(240)) {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        try await expectComplete(push, deployment)
        // The streams have no replica now, so a publish that needs one is not accepted. The dead node
        // returns as a replica.
        let refused = try await deployment.run("publish", "order-1", "--content-state", #"{"n":2}"#)
        #expect(refused.code != 0 && refused.err.contains("0 of 1 replicas"), "\(refused.err)")
        try await killed.restart()
        try await eventually("a publish is accepted", within: .seconds(240)) {
            let output = try await deployment.run("publish", "order-1", "--content-state", #"{"n":3}"#)
            return output.code == 0
        }
        let after = try await deployment.run("publish", "order-1", "--content-state", #"{"n":4}"#, "--wait", "--json")
        #expect(try Ledger(after.out).state == "done", "\(after.err)")
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
        cluster.stop()
    }

    /// Like `Deployment.expectComplete`, but other names have tokens too.
    private func expectComplete(_ push: String, _ deployment: Deployment) async throws {
        let output = try await deployment.run("push", push, "--wait", "--json")
        let ledger = try Ledger(output.out)
        #expect(output.code == 0 && ledger.state == "done" && ledger.addsUp, "\(output.out)")
        #expect(ledger["targets"] == Deployment.count)
        #expect(ledger["delivered"] + ledger["pruned"] == Deployment.count)
        let activity = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42").json
        #expect(activity["tokens"] as? Int == ledger["delivered"])
    }
}
