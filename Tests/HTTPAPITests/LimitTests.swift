import LiveActivity
import ServiceLifecycle
import TestSupport
import Testing

@testable import HTTPAPI

/// Clients that are slow, silent, many or rude, over plain sockets.
@Suite struct LimitTests {
    static let authorization =
        "Authorization: Basic \(Base64.encode("\(GatewayFixture.key):\(GatewayFixture.masterSecret)".utf8))\r\n"

    @Test func `a silent connection is closed after the idle timeout`() async throws {
        try await GatewayFixture.run(configure: { $0.idleTimeout = .milliseconds(200) }) { gateway in
            let silent = try Socket(port: gateway.port)
            let half = try Socket(port: gateway.port)
            half.send("GET /healthz HTTP/1.1\r\nHost:")
            // On a busy machine a connection may be closed before its request is there.
            try await eventually("a connection is closed after its answer") {
                let used = try Socket(port: gateway.port)
                used.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                return await used.readToEnd().hasPrefix("HTTP/1.1 200 OK")
            }
            #expect(await silent.readToEnd() == "")
            // Whatever the server says to half a request, it ends it.
            _ = await half.readToEnd()
        }
    }

    @Test func `a body that trickles in is given up`() async throws {
        try await GatewayFixture.run(configure: { $0.readTimeout = .milliseconds(300) }) { gateway in
            let slow = try Socket(port: gateway.port)
            slow.send("POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Content-Length: 1000\r\n\r\n{")
            let text = await slow.readToEnd()
            #expect(text.hasPrefix("HTTP/1.1 408 "), "\(text)")
            #expect(text.contains("\"error_code\":40800"))
        }
    }

    @Test func `a large body is refused before it is sent, and the connection closed`() async throws {
        try await GatewayFixture.run { gateway in
            let large = try Socket(port: gateway.port)
            large.send("POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Content-Length: 2000000\r\n\r\n{")
            let text = await large.readHead()
            #expect(text.hasPrefix("HTTP/1.1 413 "))
            #expect(text.lowercased().contains("connection: close"))
            let anonymous = try Socket(port: gateway.port)
            anonymous.send("POST /api/push HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
            #expect(await anonymous.readHead().hasPrefix("HTTP/1.1 401 "))
            // A small refused body is read, and the connection goes on.
            let small = try Socket(port: gateway.port)
            for _ in 0..<2 {
                small.send("POST /api/push HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
                #expect(await small.readAnswer().hasPrefix("HTTP/1.1 401 "))
            }
        }
    }

    /// A held request keeps its place for as long as the test needs, however slow the machine is.
    private static func patiently(maximumRequests: Int) -> @Sendable (inout GatewayConfiguration) -> Void {
        { configuration in
            configuration.maximumRequests = maximumRequests
            configuration.readTimeout = .seconds(3_600)
            configuration.idleTimeout = .seconds(3_600)
        }
    }

    /// A request whose body is still to come. It asks whether to go on, and the answer says that it has its place.
    private static func requestInWork(_ gateway: GatewayFixture) async throws -> Socket {
        let socket = try Socket(port: gateway.port)
        socket.send(
            "POST /api/push HTTP/1.1\r\nHost: x\r\n\(authorization)Expect: 100-continue\r\n"
                + "Content-Length: \(publishText().utf8.count)\r\n\r\n")
        #expect(await socket.readHead().hasPrefix("HTTP/1.1 100 "))
        return socket
    }

    @Test(.timeLimit(.minutes(10))) func `past the limit of requests in work the answer is 503`() async throws {
        try await GatewayFixture.run(configure: Self.patiently(maximumRequests: 2)) { gateway in
            var held: [Socket] = []
            for _ in 0..<2 { held.append(try await Self.requestInWork(gateway)) }
            // Both places are taken: a third is turned away; health still answers, as does 401.
            let reply = try await gateway.publish(publishText(), path: "/api/push/validate")
            #expect(reply.status == 503)
            #expect(reply.header("retry-after") == "1")
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            #expect(try await gateway.publish(publishText(), headers: []).status == 503)
            for socket in held {
                socket.send(publishText())
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 202 "))
            }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test func `connections past the limit wait instead of breaking anything`() async throws {
        try await GatewayFixture.run(configure: {
            $0.maximumConnections = 16; $0.idleTimeout = .seconds(2)
        }) { gateway in
            let idle = try (0..<40).map { _ in try Socket(port: gateway.port) }
            // Waits in the backlog until the idle ones are closed.
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            _ = idle.count
        }
    }

    @Test func `garbage instead of HTTP is answered and survived`() async throws {
        try await GatewayFixture.run { gateway in
            for garbage in [
                "\u{1}\u{2}\u{3}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                "POST /api/push HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST /api/push HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                "GET /healthz HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 40_000))\r\n\r\n",
            ] {
                let socket = try Socket(port: gateway.port)
                socket.send(garbage)
                let answer = await socket.readHead()
                #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
            }
            #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
        }
    }

    @Test func `a client that asks first is told to go on, unless its body is too large`() async throws {
        try await GatewayFixture.run { gateway in
            let head =
                "POST /api/push HTTP/1.1\r\nHost: x\r\n\(Self.authorization)Expect: 100-continue\r\nContent-Length: "
            let asking = try Socket(port: gateway.port)
            asking.send("\(head)\(publishText().utf8.count)\r\n\r\n")
            #expect(await asking.readHead().hasPrefix("HTTP/1.1 100 Continue\r\n"))
            asking.send(publishText())
            #expect(await asking.readAnswer().hasPrefix("HTTP/1.1 202 "))
            let large = try Socket(port: gateway.port)
            large.send("\(head)2000000\r\n\r\n")
            #expect(await large.readHead().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test(.timeLimit(.minutes(10))) func `shutdown waits for the requests in work`() async throws {
        try await GatewayFixture.run(configure: Self.patiently(maximumRequests: 1)) { gateway in
            let working = try await Self.requestInWork(gateway)
            let idle = try Socket(port: gateway.port)
            await gateway.group.triggerGracefulShutdown()
            #expect(await idle.readToEnd() == "")
            working.send(publishText())
            #expect(await working.readToEnd().hasPrefix("HTTP/1.1 202 "))
        }
    }

    @Test func `HEAD is GET without a body`() async throws {
        try await GatewayFixture.run { gateway in
            let socket = try Socket(port: gateway.port)
            socket.send(
                "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            )
            let text = await socket.readToEnd()
            #expect(text.components("HTTP/1.1 200 OK") == 2)
            #expect(text.components(#"{"ok":true"#) == 1)
        }
    }
}

extension String {
    /// How often `part` occurs.
    fileprivate func components(_ part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
