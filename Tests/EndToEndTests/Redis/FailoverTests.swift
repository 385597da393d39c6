import Foundation
import TestSupport
import Testing

/// Tests Redis with a replica and a sentinel. When the primary dies, the work goes on at the replica.
@Suite("Failover of Redis")
struct FailoverTests {
    @Test func `the primary is killed in mid-push: gateway and worker follow the sentinel, and the ledger adds up`()
        async throws
    {
        let primary = try await RedisServer.start(append: true, tcp: true)
        let replica = try await RedisServer.start(
            append: true, tcp: true, extra: ["--replicaof", "127.0.0.1", "\(primary.port ?? 0)"])
        let sentinel = try await SentinelServer.start(watching: primary)
        let url = "redis+sentinel://127.0.0.1:\(sentinel.port)/\(SentinelServer.primary)/0"
        let deployment = try await Deployment.start(
            simulator: Deployment.slow, environment: ["LAMPLIGHTER_REDIS_URL": url])
        let worker = try await deployment.worker("one", Deployment.slowly)
        try await eventually("the sentinel knows the replica") {
            try sentinel.command("SENTINEL REPLICAS \(SentinelServer.primary)") == "*1"
        }
        #expect(try await deployment.importChannels(Deployment.count, name: "match-42").code == 0)
        let push = try await deployment.publish()
        try await deployment.waitUntilUnderWay(push)
        #expect(try primary.command("WAIT 1 10000") == ":1")
        primary.signal(SIGKILL)
        try await eventually("the gateway answers again") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        try await deployment.expectComplete(push)
        #expect(try replica.command("SET a 1") == "+OK")
        let doctor = try await deployment.run("doctor")
        #expect(doctor.out.contains("! Redis failover") && doctor.out.contains("! Redis replicas"), "\(doctor.out)")
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
    }
}
