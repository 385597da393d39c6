import LiveActivity
import Store
import Testing

@testable import HTTPAPI

#if canImport(Glibc)
    import Glibc
#endif

/// Tests clients that read no responses, and very many silent clients.
@Suite struct SlowClientTests {
    @Test(.timeLimit(.minutes(5))) func `a client that reads no answers is cut off, and delays nobody meanwhile`()
        async throws
    {
        try await GatewayFixture.run(configure: {
            $0.writeTimeout = .milliseconds(500)
            $0.idleTimeout = .seconds(3_600)
        }) { gateway in
            // The list has some 30 KiB.
            for number in 0..<250 {
                let name = try ActivityName("\(number)-" + String(repeating: "x", count: 100))
                let registration = Registration(
                    channel: .random(), token: try PushToken(hex: "ab"), registeredAt: testNow)
                _ = try await gateway.store.registry.track(gateway.app, .activity(name), [registration])
            }
            // The client reads none of these responses. The kernel's buffers fill, then the gateway's, and then the
            // gateway stops reading.
            let deaf = try (0..<2).map { _ in
                let socket = try Socket(port: gateway.port, receiveBuffer: 4_096)
                socket.flood(
                    "GET /api/activities?limit=1000 HTTP/1.1\r\nHost: x\r\n\(LimitTests.authorization)\r\n",
                    times: 1_000)
                return socket
            }
            for _ in 0..<3 {
                #expect(try await gateway.publish(publishText()).status == 202)
                #expect(try await gateway.send("GET", "/healthz", user: nil).status == 200)
            }
            for socket in deaf { #expect(await socket.closedByPeer()) }
            #expect(try await gateway.publish(publishText()).status == 202)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a head that does not end closes its connection, one that does keeps it`()
        async throws
    {
        try await GatewayFixture.run(configure: {
            $0.headTimeout = .milliseconds(500)
            $0.idleTimeout = .seconds(3_600)
        }) { gateway in
            let kept = try Socket(port: gateway.port)
            kept.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await kept.readAnswer().hasPrefix("HTTP/1.1 200 "))
            let slow = try Socket(port: gateway.port)
            slow.send("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ")
            let second = try Socket(port: gateway.port)
            second.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /he")
            // Bytes of a head that came together with the request before it start no time limit but that of idle ones.
            #expect(await second.readAnswer().hasPrefix("HTTP/1.1 200 "))
            #expect(await slow.closedByPeer())
            second.send("a")
            #expect(await second.closedByPeer())
            // The deadline of a head ends with the head: this connection is older than the closed ones.
            kept.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await kept.readAnswer().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test(.timeLimit(.minutes(5))) func `thousands of idle connections cost the others nothing`() async throws {
        let wanted = Self.affordable(10_000)
        try await GatewayFixture.run(configure: {
            $0.idleTimeout = .seconds(3_600)
            $0.maximumConnections = 10_000
            $0.maximumConnectionsPerAddress = 0
        }) { gateway in
            var idle: [Socket] = []
            for number in 1...wanted {
                let socket = try Socket(port: gateway.port)
                socket.resetOnClose()
                idle.append(socket)
                guard number % 250 == 0 || number == wanted else { continue }
                // This waits until the gateway has accepted that many.
                socket.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
            #expect(try await gateway.publish(publishText()).status == 202)
            // All connections are still open, including the first.
            for socket in [idle[0], idle[wanted / 2]] {
                socket.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    /// The most connections of which this process can hold both ends, with room for the other tests.
    private static func affordable(_ wanted: Int) -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return max(100, min(wanted, (Int(clamping: limit.rlim_cur) - 3_000) / 2))
    }
}
