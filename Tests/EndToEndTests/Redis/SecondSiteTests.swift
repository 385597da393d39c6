import Foundation
import TestSupport
import Testing

/// The procedure of docs/second-site.md with one Redis at each site: site B has a replica of site A's, and processes
/// that wait for its promotion.
@Suite("SecondSite")
struct SecondSiteTests {
    private struct Servers {
        let a, b: RedisServer

        static func start() async throws -> Servers {
            let a = try await RedisServer.start(append: true, tcp: true)
            let b = try await RedisServer.start(
                append: true, tcp: true, extra: ["--replicaof", "127.0.0.1", "\(a.port ?? 0)"])
            return Servers(a: a, b: b)
        }

        func sites(waitReplicas: Int) async throws -> TwoSites {
            try await TwoSites.start(
                [(of: a, at: b)], urls: ("\(a.tcpURL)", "\(b.tcpURL)"), waitReplicas: waitReplicas)
        }

        /// Makes site B the primary, and returns the URL of its gateway.
        func promote(_ programs: TwoSites.Programs) async throws -> String {
            #expect(try b.command("REPLICAOF NO ONE") == "+OK")
            return try await programs.atWork()
        }
    }

    @Test(arguments: [1, 0])
    func `site A dies in mid-push: site B goes on, and what replicas confirmed is there`(waitReplicas: Int) async throws
    {
        let servers = try await Servers.start()
        let sites = try await servers.sites(waitReplicas: waitReplicas)
        defer { sites.stop() }
        let programs = try sites.startB()
        defer { programs.kill() }
        try await programs.expectWaiting()
        _ = try await sites.dieInMidPush("one Redis", isConfirmed: waitReplicas > 0) { () async throws in
            #expect(try servers.b.command("REPLICAOF NO ONE") == "+OK")
            return programs
        }
    }

    @Test func `the link is cut before site A dies: with wait a 503, without it the loss is what came since the cut`()
        async throws
    {
        for waitReplicas in [1, 0] {
            let servers = try await Servers.start()
            let sites = try await servers.sites(waitReplicas: waitReplicas)
            defer { sites.stop() }
            let programs = try sites.startB()
            defer { programs.kill() }
            try await sites.follow()
            // Site B no longer hears from site A, and stays a replica.
            #expect(try servers.b.command("REPLICAOF 127.0.0.1 9").hasPrefix("+OK"))
            try await eventually("site A has no replica") { try servers.a.command("WAIT 1 10") == ":0" }
            // Site A's worker may be faster than its end, so it stops first.
            sites.workerA.kill()
            var published = TwoSites.Published()
            for number in 1...TwoSites.names {
                let name = "order-\(number % TwoSites.names)"
                let answer = await TwoSites.Published.answer(number, to: name, at: sites.deployment.gatewayURL)
                #expect(answer?.status == (waitReplicas > 0 ? 503 : 202))
                if answer?.status == 202 { published.acknowledged.append((name, number, answer?.push ?? "")) }
            }
            sites.killA()
            let there = try await servers.promote(programs)
            #expect(await TwoSites.Published.status(1_000, to: "order-0", at: there) == 202)
            try await eventually("site B sends") { try await sites.newest(0) == 1_000 }
            let missing = try await sites.missing(published)
            // The push to order-0 is newer than the one that is lost.
            #expect(missing.count == (waitReplicas > 0 ? 0 : TwoSites.names - 1))
            print(
                "second site, link cut, wait_replicas \(waitReplicas): \(published.acknowledged.count) acknowledged, "
                    + "\(missing.count) lost")
        }
    }

    @Test func `site A comes back as a replica, and takes over again without a loss`() async throws {
        let servers = try await Servers.start()
        let (a, b) = (servers.a, servers.b)
        let sites = try await servers.sites(waitReplicas: 1)
        defer { sites.stop() }
        let programs = try sites.startB()
        defer { programs.kill() }
        let deployment = sites.deployment
        try await sites.follow()
        sites.killA()
        let there = try await servers.promote(programs)
        #expect(await TwoSites.Published.status(1, to: "order-1", at: there) == 202)
        try await a.restart()
        #expect(try a.command("REPLICAOF 127.0.0.1 \(b.port ?? 0)") == "+OK")
        let gateway = try Program(
            [Program.path, "serve", "--port", "0"], directory: deployment.directory,
            environment: deployment.environment.merging(["LAMPLIGHTER_REDIS_WAIT_REPLICAS": "0"]) { $1 })
        defer { gateway.kill() }
        try await gateway.waitForLog("waiting for Redis")
        try await eventually("site A has the data") { try b.command("WAIT 1 1000") == ":1" }
        #expect(await TwoSites.Published.status(2, to: "order-1", at: there) == 202)
        #expect(try b.command("FAILOVER TO 127.0.0.1 \(a.port ?? 0) TIMEOUT 10000") == "+OK")
        try await gateway.waitForLog("listening")
        let back = gateway.err.firstMatch(of: /listening.*url=(http\S+)/).map { String($0.1) } ?? ""
        // Site B's gateway says that its Redis is a replica now, and writes nothing.
        try await eventually("site B refuses") {
            await TwoSites.Published.status(3, to: "order-1", at: there) == 503
        }
        #expect(await TwoSites.Published.status(3, to: "order-1", at: back) == 202)
        let worker = try await deployment.worker("a-again", TwoSites.faster)
        defer { worker.kill() }
        try await eventually("the newest push") { try await sites.newest(1) == 3 }
        #expect(try await deployment.record()["backwards"] as? Int == 0)
    }
}
