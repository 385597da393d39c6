import Foundation
import TestSupport
import Testing

/// Tests the health and metrics of a worker.
@Suite("A worker's port")
struct MonitorTests {
    @Test func `health, readiness and what was settled, by app; nothing else, and no port unless it was asked for`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("watched", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { worker.kill() }
        let url = try await listening(worker)
        // Only our own line tells the address. A core would hold secrets.
        for program in [worker, deployment.gateway] {
            #expect(!program.err.contains("Server started"), "\(program.err)")
            let limits = try String(contentsOfFile: "/proc/\(program.pid)/limits", encoding: .utf8)
            #expect(limits.contains(/Max core file size +0\s/), "\(limits)")
        }
        #expect(try await deployment.run("track", "match-1", Deployment.channel(1), Deployment.token(1)).code == 0)
        let published = try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait")
        #expect(published.code == 0, "\(published.err)")

        let health = try await deployment.call("GET", url + "/healthz", user: nil)
        #expect(health.status == 200 && health.json["ok"] as? Bool == true)
        let metrics = try await deployment.call("GET", url + "/metrics", user: nil)
        #expect(metrics.status == 200)
        let delivered = metrics.text.split(separator: "\n").filter { $0.contains(#"outcome="delivered""#) }
        #expect(
            delivered.contains { $0.hasPrefix("lamplighter_tokens_total{app=") && $0.hasSuffix(" 1") }, "\(delivered)")
        // A name means one thing, so that a sum over processes counts nothing twice.
        let gateway = try await deployment.call("GET", deployment.gatewayURL + "/metrics", user: nil)
        let own = Self.names(metrics.text)
        for text in [metrics.text, gateway.text] {
            let helped = Set(text.matches(of: /(?m)^# HELP (\w+) .+$/).map(\.1))
            #expect(Self.names(text).subtracting(helped).isEmpty)
        }
        #expect(own.contains("lamplighter_tokens_total"))
        // Both kinds of process count their own calls of Redis, memory and processor time.
        let common = own.intersection(Self.names(gateway.text))
        #expect(common.allSatisfy { $0.hasPrefix("process_") || $0.hasPrefix("lamplighter_redis_") }, "\(common)")
        let ready = try await deployment.call("GET", url + "/readyz", user: nil)
        #expect(ready.status == 200 && ready.json["alarms"] as? [String] == [])
        #expect(try await deployment.call("GET", url + "/api/activities", user: nil).status == 404)

        deployment.redis.signal(SIGKILL)
        let without = try await deployment.call("GET", url + "/readyz", user: nil)
        #expect(without.status == 503, "\(without.text)")
        #expect(try await deployment.call("GET", url + "/healthz", user: nil).status == 200)
    }

    @Test func `a gateway's metrics have a port and a secret of their own`() async throws {
        let secret = "a-secret-for-prometheus"
        let deployment = try await Deployment.start(environment: [
            "LAMPLIGHTER_MONITOR_PORT": "0", "LAMPLIGHTER_MONITOR_SECRET": secret,
        ])
        try await deployment.gateway.waitForLog("health and metrics")
        let line = deployment.gateway.err.split(separator: "\n").first { $0.contains("health and metrics") }
        let url = try #require(line?.firstMatch(of: /url=(http\S+)/).map { String($0.1) })
        #expect(url != deployment.gatewayURL)
        for path in ["/metrics", "/readyz"] {
            #expect(try await deployment.call("GET", url + path, user: nil).status == 401)
            #expect(try await deployment.call("GET", deployment.gatewayURL + path, user: "x:\(secret)").status == 404)
        }
        let metrics = try await deployment.call("GET", url + "/metrics", user: "x:\(secret)")
        #expect(metrics.status == 200 && metrics.text.contains("lamplighter_fleet_"), "\(metrics.text.prefix(300))")
        #expect(try await deployment.call("GET", url + "/readyz", user: "x:\(secret)").status == 200)
        #expect(try await deployment.call("GET", url + "/healthz", user: nil).status == 200)
        #expect(try await deployment.call("GET", url + "/api/pushes").status == 404)
        #expect(!deployment.gateway.err.contains(secret))
        let port = try #require(url.split(separator: ":").last)
        let other = try await deployment.run(
            "serve", "--port", "0", environment: ["LAMPLIGHTER_MONITOR_PORT": "\(port)"])
        #expect(other.code == 1 && other.err.contains("monitor.port"), "\(other.err)")
    }

    @Test func `a worker's readiness and metrics ask for the secret`() async throws {
        let secret = "a-secret-for-prometheus"
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker(
            "guarded", ["LAMPLIGHTER_WORKER_PORT": "0", "LAMPLIGHTER_MONITOR_SECRET": secret])
        defer { worker.kill() }
        let url = try await listening(worker)
        for path in ["/metrics", "/readyz"] {
            #expect(try await deployment.call("GET", url + path, user: nil).status == 401)
            #expect(try await deployment.call("GET", url + path, user: "x:wrong").status == 401)
            #expect(try await deployment.call("GET", url + path, user: "x:\(secret)").status == 200)
        }
        #expect(try await deployment.call("GET", url + "/healthz", user: nil).status == 200)
        #expect(!worker.err.contains(secret))
    }

    private static func names(_ metrics: String) -> Set<Substring> {
        Set(
            metrics.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.compactMap {
                $0.split(separator: " ").dropFirst(2).first
            })
    }

    @Test func `an address in use ends the worker with its name`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { worker.kill() }
        let port = try #require(try await listening(worker).split(separator: ":").last)
        let other = try await deployment.run("work", "--port", String(port))
        #expect(other.code == 1)
        #expect(other.err.contains("cannot listen on 127.0.0.1:\(port): Address already in use;"), "\(other.err)")
    }

    private func listening(_ worker: Program) async throws -> String {
        try await worker.waitForLog("health and metrics")
        let line = worker.err.split(separator: "\n").first { $0.contains("health and metrics") } ?? ""
        return try #require(line.split(separator: " ").first { $0.hasPrefix("url=") }).dropFirst(4).description
    }
}
