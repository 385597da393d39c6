import Answers
import Curl
import LiveActivity
import PrometheusText
import Redis
import ServiceLifecycle
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// The secret of `/metrics` and `/readyz`.
@Suite struct MonitorSecretTests {
    private static let secret = "monitor-secret-01"

    @Test func `metrics and readiness ask for the secret, the rest does not`() async throws {
        try await GatewayFixture.run(configure: { $0.monitorSecret = Self.secret }) { gateway in
            for path in ["/metrics", "/readyz"] {
                let bare = try await gateway.send("GET", path, user: nil)
                #expect(bare.status == 401 && bare.text.contains("monitor.secret"), "\(bare.text)")
                #expect(try await gateway.send("GET", path, user: "any:wrong").status == 401)
                #expect(try await gateway.send("GET", path).status == 401, "an app's secret is another one")
                #expect(try await gateway.send("GET", path, user: "any:\(Self.secret)").status == 200)
                let bearer = [("Authorization", "Bearer \(Self.secret)")]
                #expect(try await gateway.send("GET", path, user: nil, headers: bearer).status == 200)
                #expect(try await gateway.send("HEAD", path, user: nil).status == 401)
            }
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            #expect(try await gateway.send("GET", "/openapi.json", user: nil).status == 200)
        }
    }

    @Test func `guesses of it are slowed down, too`() async throws {
        try await GatewayFixture.run(configure: {
            $0.monitorSecret = Self.secret
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.failedSignInsPerMinute = 2
        }) { gateway in
            func status(_ secret: String?) async throws -> Int {
                try await gateway.send(
                    "GET", "/metrics", user: secret.map { "x:\($0)" }, headers: [("X-Forwarded-For", "192.0.2.1")]
                ).status
            }
            let first = try await status(Self.secret)
            #expect(first == 200)
            for number in 0..<2 { #expect(try await status("wrong-\(number)") == 401) }
            #expect(try await status("wrong") == 429)
            #expect(try await status(Self.secret) == 200, "it was right before")
        }
    }

    @Test func `with a port of their own they are not at the gateway's`() async throws {
        try await GatewayFixture.run(configure: { $0.hasOwnMonitor = true }) { gateway in
            for path in ["/metrics", "/readyz"] {
                #expect(try await gateway.send("GET", path, user: nil).status == 404)
            }
            let health = try await gateway.send("GET", "/healthz", user: nil)
            #expect(health.status == 200)
        }
    }

    private func send(
        _ port: Int, _ path: String, secret: String?, from address: String = "192.0.2.1"
    ) async throws -> Reply {
        var headers = [("X-Forwarded-For", address)]
        if let secret { headers.append(("Authorization", "Bearer \(secret)")) }
        let request = HTTPRequest(
            "GET", "http://127.0.0.1:\(port)\(path)", headers: headers, timeout: .seconds(120))
        return Reply(try await HTTPClient().send(request))
    }

    @Test func `guesses at a gateway's port of its own are slowed down, too`() async throws {
        try await GatewayFixture.run(configure: {
            $0.monitorSecret = Self.secret
            $0.hasOwnMonitor = true
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
            $0.failedSignInsPerMinute = 2
        }) { gateway in
            try await gateway.gateway.monitor(host: "127.0.0.1", port: 0).serving { port in
                #expect(try await send(port, "/metrics", secret: Self.secret).status == 200)
                for _ in 0..<3 {
                    #expect(try await send(port, "/readyz", secret: nil).status == 401, "no secret is no guess")
                }
                for number in 0..<2 {
                    #expect(try await send(port, "/metrics", secret: "wrong-\(number)").status == 401)
                }
                let refused = try await send(port, "/readyz", secret: "wrong")
                #expect(refused.status == 429 && refused.header("retry-after") != nil, "\(refused.text)")
                #expect(try await send(port, "/metrics", secret: Self.secret).status == 200, "it was right before")
                #expect(try await send(port, "/metrics", secret: "wrong", from: "192.0.2.2").status == 401)
                #expect(try await send(port, "/healthz", secret: nil).status == 200)
            }
        }
    }

    @Test func `a worker's port asks for the secret`() async throws {
        let server = try await RedisServer.start()
        defer { server.stop() }
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        let monitor = Monitor(
            host: "127.0.0.1", port: 0, apps: [], store: store, registry: PrometheusRegistry(), version: "0",
            secret: Self.secret, logger: .quiet, idleTimeout: .seconds(600))
        try await monitor.serving { port in
            for path in ["/metrics", "/readyz"] {
                #expect(try await send(port, path, secret: nil).status == 401)
                #expect(try await send(port, path, secret: "wrong").status == 401)
                #expect(try await send(port, path, secret: Self.secret).status == 200)
            }
            let health = try await send(port, "/healthz", secret: nil)
            #expect(health.status == 200)
        }
    }

    @Test func `guesses at a worker's port are slowed down, too`() async throws {
        let monitor = Monitor(
            host: "127.0.0.1", port: 0, version: "0", logger: .quiet, idleTimeout: .seconds(600),
            secret: { Self.secret },
            guessesPerMinute: { Monitor.guessesPerMinute },
            proxies: { TrustedProxies(AddressRanges("127.0.0.1")!) }, readiness: { Answer(200, DoneAnswer()) },
            metrics: { Answer(200, DoneAnswer()) })
        try await monitor.serving { port in
            for number in 0..<60 {
                #expect(try await send(port, "/metrics", secret: "wrong-\(number)").status == 401)
            }
            // The minute goes on while the guesses are sent, so one or two more may be compared.
            try await eventually("a guess is refused") {
                try await send(port, "/metrics", secret: "wrong").status == 429
            }
        }
    }
}
