import Foundation
import Synchronization
import TestSupport
import Testing

/// The procedure of docs/second-site.md with a cluster: each primary of site A has a replica at site B, which the
/// cluster does not promote by itself.
@Suite("SecondSite with a cluster")
struct SecondSiteClusterTests {
    @Test(arguments: [1, 0])
    func `site A dies in mid-push: site B takes over its slots, and site A comes back as its replica`(
        waitReplicas: Int
    ) async throws {
        let cluster = try await ClusterServers.start(replicated: true, append: true)
        let (a, b) = (cluster.primaries, cluster.replicas)
        for server in b {
            #expect(try server.command("CONFIG SET cluster-replica-no-failover yes replica-priority 0") == "+OK")
        }
        let sites = try await TwoSites.start(
            zip(a, b).map { (of: $0, at: $1) }, urls: ("\(cluster.url)", "\(ClusterServers.url(b))"),
            waitReplicas: waitReplicas)
        defer { sites.stop() }
        let programs = Mutex<TwoSites.Programs?>(nil)
        defer { programs.withLock { $0?.kill() } }
        let there = try await sites.dieInMidPush("cluster", isConfirmed: waitReplicas > 0) { () async throws in
            // No majority of primaries is left to vote.
            for server in b { #expect(try server.command("CLUSTER FAILOVER TAKEOVER") == "+OK") }
            for server in b {
                try await eventually("site B has all slots") {
                    try await server.fields("CLUSTER", "INFO")["cluster_state"] == "ok"
                }
            }
            // Site B's processes would have found site A's primaries, and worked beside its own.
            let started = try sites.startB()
            programs.withLock { $0 = started }
            return started
        }
        for server in a { try await server.restart() }
        for server in a {
            try await eventually("site A's servers have the data") {
                let fields = try await server.fields("INFO", "replication")
                return fields["role"] == "slave" && fields["master_link_status"] == "up"
            }
        }
        // A primary hands over to a replica of which it has heard, and so do the others vote.
        for primary in b {
            let id = try await cluster.id(of: primary)
            for server in b {
                try await eventually("site B knows its replicas") {
                    try server.command("CLUSTER REPLICAS \(id)") == "*1"
                }
            }
        }
        #expect(await TwoSites.Published.status(1_000_000, to: "order-1", at: there) == 202)
        // The planned way back: each server takes its slots when it has all data.
        for server in a { try await handOver(to: server) }
        try await eventually("site B's processes follow") {
            await TwoSites.Published.status(1_000_001, to: "order-2", at: there) == 202
        }
        for name in [1, 2] {
            try await eventually("the newest push") { try await sites.newest(name) == 999_999 + name }
        }
        #expect(try await sites.deployment.record()["backwards"] as? Int == 0)
    }

    /// A primary that is busy for five seconds does not hand over, and has to be asked again.
    private func handOver(to server: RedisServer) async throws {
        for attempt in 1...20 {
            _ = try server.command("CLUSTER FAILOVER")
            do {
                return try await eventually("the server is the primary again", within: .seconds(6)) {
                    try await server.fields("INFO", "replication")["role"] == "master"
                }
            } catch let error as NeverHappened { if attempt == 20 { throw error } }
        }
    }
}
