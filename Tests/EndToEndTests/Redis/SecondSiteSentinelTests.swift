import Foundation
import TestSupport
import Testing

/// The procedure of docs/second-site.md where sentinels watch site A: a primary and a replica there, and a replica at
/// site B that no sentinel promotes.
@Suite("SecondSite with Sentinel")
struct SecondSiteSentinelTests {
    private struct Servers {
        let first, second, b: RedisServer
        let sentinel: SentinelServer

        static func start() async throws -> Servers {
            let first = try await RedisServer.start(append: true, tcp: true)
            let follows = ["--replicaof", "127.0.0.1", "\(first.port ?? 0)"]
            let second = try await RedisServer.start(append: true, tcp: true, extra: follows)
            let b = try await RedisServer.start(append: true, tcp: true, extra: follows + ["--replica-priority", "0"])
            let sentinel = try await SentinelServer.start(watching: first)
            return Servers(first: first, second: second, b: b, sentinel: sentinel)
        }

        /// Site B has one server and no sentinels until it has taken over.
        func sites(waitReplicas: Int) async throws -> TwoSites {
            let a = "redis+sentinel://127.0.0.1:\(sentinel.port)/\(SentinelServer.primary)/0"
            try await eventually("the sentinel knows both replicas") {
                try sentinel.command("SENTINEL REPLICAS \(SentinelServer.primary)") == "*2"
            }
            return try await TwoSites.start(
                [(of: first, at: b)], others: [second], urls: (a, "\(b.tcpURL)"), waitReplicas: waitReplicas)
        }

        func stop() { sentinel.stop() }
    }

    /// Sentinels that knew site B's server as a replica make it one again. They use SLAVEOF, and a person REPLICAOF.
    private func refuseSentinels(at server: RedisServer) throws {
        #expect(try server.command("ACL SETUSER default -slaveof") == "+OK")
    }

    @Test(arguments: [2, 0])
    func `site A dies in mid-push: site B goes on, and stays the primary when site A comes back`(
        waitReplicas: Int
    ) async throws {
        let servers = try await Servers.start()
        defer { servers.stop() }
        let sites = try await servers.sites(waitReplicas: waitReplicas)
        defer { sites.stop() }
        let programs = try sites.startB()
        defer { programs.kill() }
        try await programs.expectWaiting()
        let there = try await sites.dieInMidPush("Sentinel", isConfirmed: waitReplicas > 0) { () async throws in
            servers.sentinel.stop()
            try refuseSentinels(at: servers.b)
            #expect(try servers.b.command("REPLICAOF NO ONE") == "+OK")
            return programs
        }
        // Site A is back as it was: its sentinel remembers the server at site B.
        try await servers.first.restart()
        let sentinel = try await SentinelServer.start(
            watching: servers.first.port ?? 0,
            extra: ["sentinel known-replica \(SentinelServer.primary) 127.0.0.1 \(servers.b.port ?? 0)"])
        defer { sentinel.stop() }
        try await eventually("site B refuses the sentinel") { try servers.b.command("ACL LOG") != "*0" }
        #expect(await TwoSites.Published.status(1_000_000, to: "order-1", at: there) == 202)
        try await eventually("site B sends") { try await sites.newest(1) == 1_000_000 }
    }

    @Test func `site B follows a failover within site A, confirms there, and takes over as planned`() async throws {
        let servers = try await Servers.start()
        defer { servers.stop() }
        let sites = try await servers.sites(waitReplicas: 2)
        defer { sites.stop() }
        let programs = try sites.startB()
        defer { programs.kill() }
        let gateway = sites.deployment.gatewayURL
        try await sites.follow()
        #expect(await TwoSites.Published.status(1, to: "order-1", at: gateway) == 202)
        let doctor = try await sites.deployment.run("doctor")
        #expect(doctor.out.contains("✓ Redis second site"), "\(doctor.out)")
        let local = try await sites.deployment.run(
            ["doctor"], environment: ["LAMPLIGHTER_REDIS_WAIT_REPLICAS": "1"])
        #expect(local.out.contains("! Redis second site"), "\(local.out)")

        // The sentinel promotes the second server of site A, and site B's follows it.
        servers.first.signal(SIGKILL)
        try await eventually("site B alone confirms, which is not enough") {
            let refused = try await sites.deployment.run("publish", "order-1", "--content-state", #"{"n":2}"#)
            #expect(refused.code != 0)
            return refused.err.contains("1 of 2 replicas")
        }
        #expect(try servers.b.command("SET a 1").hasPrefix("-READONLY"))
        try await servers.first.restart()
        try await eventually("publishes are accepted again") {
            await TwoSites.Published.status(3, to: "order-1", at: gateway) == 202
        }
        try await programs.expectWaiting()

        // The planned switch: site A's sentinels forget the primary, which hands over to site B.
        #expect(try servers.sentinel.command("SENTINEL REMOVE \(SentinelServer.primary)") == "+OK")
        #expect(try servers.second.command("FAILOVER TO 127.0.0.1 \(servers.b.port ?? 0) TIMEOUT 10000") == "+OK")
        let there = try await programs.atWork()
        try await eventually("site A refuses") {
            await TwoSites.Published.status(4, to: "order-1", at: gateway) == 503
        }
        #expect(await TwoSites.Published.status(5, to: "order-1", at: there) == 202)
        try await eventually("the newest push") { try await sites.newest(1) == 5 }
        #expect(try await sites.deployment.record()["backwards"] as? Int == 0)
        // Both servers of site A have what site B has, for the way back.
        try await eventually("site A follows") { try servers.second.command("SET a 1").hasPrefix("-READONLY") }
    }
}
