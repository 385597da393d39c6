import LiveActivity
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
}
