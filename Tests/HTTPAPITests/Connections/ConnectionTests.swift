import LiveActivity
import Testing

@testable import HTTPAPI

/// Tests a single connection over plain sockets: requests that follow each other, and forms of HTTP/1.1 that
/// parsers read differently.
@Suite struct ConnectionTests {
    private static let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n"

    /// Java's HttpClient and `curl --http2` ask for HTTP/2 with the first request of a connection.
    @Test func `a connection that asked for an upgrade goes on as HTTP 1.1`() async throws {
        try await GatewayFixture.run { gateway in
            for upgrade in ["h2c", "TLS/1.2", "websocket"] {
                let socket = try Socket(port: gateway.port)
                let asking =
                    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: \(upgrade)\r\nHTTP2-Settings: AAMAAABk\r\n"
                for _ in 0..<3 {
                    socket.send("\(Self.health)\(asking)\r\n")
                    #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "), "\(upgrade)")
                }
                // The same with a body, and with the next requests in the same packet.
                let publish =
                    "POST /api/push/validate HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)\(asking)"
                    + "Content-Length: \(publishText().utf8.count)\r\n\r\n\(publishText())"
                socket.send(publish + publish + "\(Self.health)Connection: close\r\n\r\n")
                let text = await socket.readToEnd()
                #expect(text.occurrences(of: "HTTP/1.1 200 ") == 3, "\(text)")
            }
        }
    }

    @Test func `a connection is closed behind CONNECT, whose end parsers do not agree on`() async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            socket.send("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n\(Self.health)\r\n")
            let text = await socket.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 404 "), "\(text)")
            #expect(text.lowercased().contains("connection: close"))
            #expect(text.occurrences(of: "HTTP/1.1 ") == 1)
        }
    }

    @Test(arguments: ["close", "Close", "CLOSE", "foo, Close"])
    func `a client that wants to close is told so and closed, however it writes it`(word: String) async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            socket.send("\(Self.health)Connection: \(word)\r\n\r\n")
            let text = await socket.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.lowercased().contains("connection: close"), "\(text)")
        }
    }

    @Test func `HTTP 1.0 closes unless it asks to go on, and needs no Host`() async throws {
        try await GatewayFixture.run { gateway in
            let plain = try Socket(port: gateway.port)
            plain.send("GET /healthz HTTP/1.0\r\n\r\n")
            #expect(await plain.readToEnd().contains(" 200 "))
            let kept = try Socket(port: gateway.port)
            for _ in 0..<2 {
                kept.send("GET /healthz HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
                #expect(await kept.readAnswer().contains(" 200 "))
            }
        }
    }

    @Test(arguments: ["", "Host: a\r\nHost: b\r\n", "Host: x\r\nHost: x\r\n", "Host:\r\n"])
    func `a request without exactly one Host is refused`(fields: String) async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            // A probe may have an empty one.
            socket.send("GET /openapi.json HTTP/1.1\r\n\(fields)\r\n")
            #expect(await socket.readHead().hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test func `a body that is not chunked as it says is 400, not a time-out`() async throws {
        try await GatewayFixture.run { gateway in
            for body in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}xx0\r\n\r\n"] {
                let socket = try Socket(port: gateway.port)
                socket.send(
                    "POST /api/push HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)"
                        + "Transfer-Encoding: chunked\r\n\r\n\(body)")
                let text = await socket.readToEnd()
                #expect(text.hasPrefix("HTTP/1.1 400 "), "\(text)")
            }
        }
    }

    @Test(arguments: ["gzip, chunked", "identity", "chunked, chunked", "xchunked"])
    func `a transfer coding other than chunked is refused, and the connection closed`(coding: String) async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            socket.send(
                "POST /api/push/validate HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)"
                    + "Transfer-Encoding: \(coding)\r\n\r\n"
                    + "\(String(publishText().utf8.count, radix: 16))\r\n\(publishText())\r\n0\r\n\r\n")
            let text = await socket.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 400 ") || text.hasPrefix("HTTP/1.1 501 "), "\(coding): \(text)")
            #expect(text.occurrences(of: "HTTP/1.1 ") == 1)
        }
    }

    @Test func `pipelined requests are answered in order, each once`() async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            let count = 500
            let requests = (0..<count).map { "GET /nothing/\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
            socket.send(requests + "\(Self.health)Connection: close\r\n\r\n")
            let text = await socket.readToEnd()
            #expect(text.occurrences(of: "HTTP/1.1 404 ") == count)
            #expect(text.occurrences(of: "HTTP/1.1 200 ") == 1)
        }
    }

    @Test func `a path in another spelling is not an open one`() async throws {
        try await GatewayFixture.run { gateway in
            for path in ["/%6Detrics", "/metrics/", "/%68ealthz", "/healthz/", "/read%79z", "/readyz/"] {
                let reply = try await gateway.send("GET", path, user: nil)
                #expect(reply.status == 404, "\(path)")
            }
            for path in ["/metrics", "/healthz", "/readyz", "/healthz?x=1"] {
                let reply = try await gateway.send("GET", path, user: nil)
                #expect(reply.status == 200, "\(path)")
            }
        }
    }
}

extension String {
    /// How often `part` occurs.
    func occurrences(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
