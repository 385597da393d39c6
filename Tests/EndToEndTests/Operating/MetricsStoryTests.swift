import Foundation
import Store
import TestSupport
import Testing

/// The metrics of a whole deployment.
struct MetricsStoryTests {
    @Test func `every metric of a worker and a gateway is in docs/metrics md, with the labels that it names`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("measured", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { worker.kill() }
        try await worker.waitForLog("health and metrics")
        let port = worker.err.firstMatch(of: /health and metrics url=(http\S+)/).map { String($0.1) } ?? ""
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        #expect(try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait").code == 0)
        let document = try Self.document()
        var exported: Set<String> = []
        for url in [port, deployment.gatewayURL] {
            let text = try await deployment.call("GET", url + "/metrics", user: nil).text
            for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                let match = try #require(line.firstMatch(of: /^([a-z_]+)(?:\{(.*)\})? \S+$/), "\(line)")
                let name = String(match.1).replacing(/_(bucket|sum|count)$/, with: "")
                let labels = Set((match.2 ?? "").matches(of: /([a-z_]+)="/).map { String($0.1) }).subtracting(["le"])
                #expect(document[name] == labels, "\(line)")
                exported.insert(name)
            }
        }
        // A first push must have moved these.
        for name in [
            "lamplighter_push_first_token_seconds", "lamplighter_arrival_seconds",
            "lamplighter_apns_round_trip_seconds",
            "lamplighter_apns_connections_opened_total", "lamplighter_provider_token_renewals_total",
            "lamplighter_redis_round_trip_seconds", "lamplighter_lease_claims_total", "lamplighter_fleet_workers",
            "lamplighter_fleet_queue_oldest_seconds", "process_resident_memory_bytes",
        ] {
            #expect(exported.contains(name), "\(name)")
        }
        let text = try await deployment.call("GET", port + "/metrics", user: nil).text
        #expect(
            text.contains(
                #"lamplighter_push_first_token_seconds_count{app="shop",platform="ios",priority="10",size="small"} 1"#))
        #expect(text.contains(#"lamplighter_push_last_token_seconds_count{app="shop",priority="10",size="small"} 1"#))
        #expect(text.contains(#"lamplighter_apns_connections{app="shop"} 1"#))
        #expect(text.contains(#"lamplighter_pages_in_flight{app="shop"} 0"#))
        let fleet = try await deployment.call("GET", deployment.gatewayURL + "/metrics", user: nil).text
        #expect(fleet.contains(#"lamplighter_fleet_workers{app="shop",state="live"} 1"#))
    }

    /// `LamplighterPoisonTask` sees nothing but this count.
    @Test func `phones that wait for a retry and that workers died over are counted as given up`() async throws {
        let deployment = try await Deployment.start()
        let faults = deployment.controlURL + "/simulator/faults"
        func answer(_ body: String) async throws {
            #expect(try await deployment.call("POST", faults, user: nil, body: body).status == 200)
        }
        try await answer(#"{"rejections":{"ServiceUnavailable":1}}"#)
        #expect(try await deployment.importChannels(1, name: "match-42").code == 0)
        let first = try await deployment.worker("first")
        let push = try await deployment.publish()
        try await eventually("the phone waits for its retry") { try await deployment.ledger(push)["retries"] > 0 }
        first.signal(SIGTERM)
        #expect(await first.end()?.code == 0)
        // So many workers have died with the lease.
        let lapses = try Deployment.lapsesOfRetries("match-42")
        #expect(try deployment.redis.command("HSET \(lapses) \(SweepStore.mostLapses + 1)").first == ":")
        try await answer("{}")
        let second = try await deployment.worker("second", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { second.kill() }
        try await eventually("the push is given up") { try await deployment.ledger(push)["failed"] == 1 }
        let port = second.err.firstMatch(of: /health and metrics url=(http\S+)/).map { String($0.1) } ?? ""
        let text = try await deployment.call("GET", port + "/metrics", user: nil).text
        #expect(text.contains(#"lamplighter_lease_claims_total{app="shop",outcome="poison"} 1"#))
        #expect(second.err.contains("task given up"), "\(second.err)")
    }

    /// The labels of each metric, as the document's tables name them.
    private static func document() throws -> [String: Set<String>] {
        let text = try Repository.text("docs/metrics.md")
        let rows = text.matches(of: /(?m)^\| `([a-z_]+)` \| (?:counter|gauge|histogram) \| ([^|]*)\|/)
        return Dictionary(
            rows.map { row in (String(row.1), Set(row.2.matches(of: /`([a-z_]+)`/).map { String($0.1) })) },
            uniquingKeysWith: { first, _ in first })
    }
}
