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

    private func gateway(_ sentinel: SentinelServer, _ name: String, in directory: String) throws -> Program {
        try Program(
            [Program.path, "serve", "--port", "0"], directory: directory,
            environment: [
                "LAMPLIGHTER_REDIS_URL": "redis+sentinel://127.0.0.1:\(sentinel.port)/\(name)/0",
                "LAMPLIGHTER_APP_KEY": "shop", "LAMPLIGHTER_APP_SECRET": "shop-secret",
                "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master", "LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop",
            ])
    }

    @Test func `a name that the sentinels do not know ends a process at once, as a wrong configuration`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let primary = try await RedisServer.start(tcp: true)
        let sentinel = try await SentinelServer.start(watching: primary)
        let end = try #require(await gateway(sentinel, "other", in: directory).end(within: .seconds(600)))
        #expect(end.code == 78, "\(end.err)")
        #expect(end.err.contains("it knows no primary called other (write the name of their"), "\(end.err)")
        #expect(!end.err.contains("waiting for Redis"))
    }

    @Test func `a process that starts while the sentinels have no primary waits for one`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let primary = try await RedisServer.start(tcp: true)
        let replica = try await RedisServer.start(
            tcp: true, extra: ["--replicaof", "127.0.0.1", "\(primary.port ?? 0)"])
        defer { replica.stop() }
        let sentinel = try await SentinelServer.start(watching: primary)
        try await eventually("the sentinel knows the replica") {
            try sentinel.command("SENTINEL REPLICAS \(SentinelServer.primary)") == "*1"
        }
        primary.signal(SIGKILL)
        let gateway = try gateway(sentinel, SentinelServer.primary, in: directory)
        defer { gateway.kill() }
        try await gateway.waitForLog("waiting for Redis: Redis has no primary now")
        try await gateway.waitForLog("listening")
    }
}
