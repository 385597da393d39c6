import Testing

@testable import HTTPAPI

/// Tests that requests which are sent ahead do not keep the event loops from their sockets.
@Suite struct SentAheadTests {
    private static let (connections, requests) = (40, 400)

    @Test func `a new connection is answered while others have hundreds of requests waiting`() async throws {
        try await GatewayFixture.run { gateway in
            let floods = try (0..<Self.connections).map { _ in try Socket(port: gateway.port) }
            for flood in floods {
                flood.flood("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", times: Self.requests)
            }
            // The page of numbers itself tells how many requests were answered before it.
            let late = try Socket(port: gateway.port)
            late.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let page = await late.readToEnd()
            #expect(page.hasPrefix("HTTP/1.1 200 "))
            let line = page.split(separator: "\n").first {
                $0.hasPrefix("lamplighter_http_requests_total{") && $0.contains("/healthz")
            }
            let answered = line?.split(separator: " ").last.flatMap { Double($0.filter { $0 != "\r" }) } ?? 0
            #expect(answered < Double(Self.connections * Self.requests) / 2, "\(answered) were answered first")
        }
    }
}
