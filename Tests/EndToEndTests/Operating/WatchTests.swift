import Foundation
import TestSupport
import Testing

/// Tests `lamplighter status --watch` and the metrics of a whole deployment.
@Suite("Watching a deployment")
struct WatchTests {
    @Test func `status tells of an intake that nobody reads`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await !deployment.run("status").out.contains("intake"))
        for _ in 0..<2 { _ = try deployment.redis.command("XADD ll:in:{shop} * push {}") }
        let status = try await deployment.run("status")
        #expect(
            status.out.contains("! app shop: 2 entries of the intake without an answer, the first "), "\(status.out)")
        let json = try await deployment.run("status", "--json")
        #expect(json.out.contains(#""intake":{"waiting":2,"oldest_ms":"#), "\(json.out)")
    }

    @Test func `without a terminal, watch prints page after page, and JSON line after line`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        let text = try watch(deployment)
        // The page says what is missing.
        try await eventually("the page names the missing worker") {
            text.out.contains("✗ no worker sends a heartbeat: start 'lamplighter work'")
        }
        let worker = try await deployment.worker("seen")
        #expect(try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait").code == 0)
        try await eventually("the worker's heartbeat has the token") {
            text.out.split(separator: "\n").contains { line in
                let words = line.split(separator: " ")
                return line.hasPrefix("seen-") && words.count > 5 && words[5] == "1"
            }
        }
        text.signal(SIGTERM)
        #expect(await text.end(within: .seconds(60)) != nil)

        let json = try watch(deployment, "--json")
        try await eventually("two lines of JSON") { json.out.split(separator: "\n").count > 2 }
        let line = try #require(json.out.split(separator: "\n").first)
        let page = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let workers = try #require(page["workers"] as? [[String: Any]])
        #expect((workers.first?["name"] as? String)?.hasPrefix("seen-") == true)
        #expect((page["apps"] as? [[String: Any]])?.first?["key"] as? String == "shop")
        json.kill()

        // A worker that ends in order takes its heartbeat with it; a killed one leaves it.
        worker.signal(SIGTERM)
        #expect(await worker.end(within: .seconds(60))?.code == 0)
        let after = try watch(deployment)
        let killed = try await deployment.worker("killed")
        try await eventually("the second worker's heartbeat") { after.out.contains("killed-") }
        killed.kill()
        try await eventually("the killed worker is told of, the other is gone") {
            let last = after.out.components(separatedBy: "lamplighter  ").last ?? ""
            return last.contains("killed-") && last.contains("no worker sends a heartbeat") && !last.contains("seen-")
        }
        after.kill()
    }

    @Test func `an interval needs watch, and has bounds`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.run("status", "--interval", "1").code == 64)
        #expect(try await deployment.run("status", "--watch", "--interval", "0").code == 64)
    }

    private func watch(_ deployment: Deployment, _ more: String...) throws -> Program {
        try Program(
            [Program.path, "status", "--watch", "--interval", "0.5"] + more, directory: deployment.directory,
            environment: deployment.environment)
    }

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
        #expect(text.contains(#"lamplighter_push_first_token_seconds_count{app="shop",priority="10",size="small"} 1"#))
        #expect(text.contains(#"lamplighter_push_last_token_seconds_count{app="shop",priority="10",size="small"} 1"#))
        #expect(text.contains(#"lamplighter_apns_connections{app="shop"} 1"#))
        #expect(text.contains(#"lamplighter_pages_in_flight{app="shop"} 0"#))
        let fleet = try await deployment.call("GET", deployment.gatewayURL + "/metrics", user: nil).text
        #expect(fleet.contains(#"lamplighter_fleet_workers{app="shop",state="live"} 1"#))
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
