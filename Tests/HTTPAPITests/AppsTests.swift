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
}
