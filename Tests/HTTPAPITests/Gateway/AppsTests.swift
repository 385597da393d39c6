import Testing

@testable import HTTPAPI

/// Tests two apps behind one gateway. The secrets of one open nothing of the other.
@Suite struct AppsTests {
    @Test func `no endpoint takes another app's secret`() async throws {
        try await GatewayFixture.run { gateway in
            for endpoint in Endpoint.all where endpoint.access != .anyone {
                let path = endpoint.pattern.split(separator: "/").map { $0.hasPrefix("{") ? "x" : String($0) }
                for secret in [GatewayFixture.secret, GatewayFixture.masterSecret] {
                    let answer = try await gateway.send(
                        endpoint.method, "/" + path.joined(separator: "/"), "{}", user: "other-app:\(secret)")
                    #expect(answer.status == 401, "\(endpoint.method) \(endpoint.pattern)")
                }
                if endpoint.access == .master {
                    let answer = try await gateway.send(
                        endpoint.method, "/" + path.joined(separator: "/"), "{}",
                        user: "\(GatewayFixture.key):\(GatewayFixture.secret)")
                    #expect(answer.status == 401, "\(endpoint.method) \(endpoint.pattern) with the app secret")
                }
            }
        }
    }

    /// An alert about the last value of an app that is gone would never end.
    @Test func `an app that a reload removes leaves no series of the fleet`() async throws {
        try await GatewayFixture.run { gateway in
            func fleet() async throws -> [Substring] {
                try await gateway.send("GET", "/metrics", user: nil).text.split(separator: "\n")
                    .filter { $0.hasPrefix("lamplighter_fleet_") }
            }
            let other = #"app="other-app""#
            #expect(try await fleet().contains { $0.contains(other) })
            let next = GatewayConfiguration(
                apps: [
                    GatewayApp(
                        key: try gateway.app, secret: GatewayFixture.secret,
                        masterSecret: GatewayFixture.masterSecret)
                ])
            gateway.gateway.reload(next, store: gateway.store)
            let left = try await fleet()
            #expect(!left.contains { $0.contains(other) })
            #expect(left.contains(#"lamplighter_fleet_workers{app="\#(GatewayFixture.key)",state="live"} 0"#))
        }
    }
}
