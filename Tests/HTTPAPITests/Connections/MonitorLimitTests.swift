import Answers
import LiveActivity
import PrometheusText
import Redis
import ServiceLifecycle
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// Clients of a worker's port that say nothing, and very many of them.
@Suite struct MonitorLimitTests {
    private static let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Runs the port as a worker does, but for what is told otherwise.
    private func run(
        idleTimeout: Duration = Monitor.idleTimeout, _ body: @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        let server = try await RedisServer.start()
        let store = Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet))
        let monitor = Monitor(
            host: "127.0.0.1", port: 0, apps: [], store: store, registry: PrometheusRegistry(), version: "0",
            logger: .quiet, idleTimeout: idleTimeout)
        try await monitor.serving(body)
    }

    @Test func `a silent connection is closed, before a request and after one`() async throws {
        try await run { port in
            let (silent, half) = (try Socket(port: port), try Socket(port: port))
            half.send("GET /healthz HTTP/1.1\r\nHost:")
            let used = try Socket(port: port)
            used.send(Self.request)
            #expect(await used.readAnswer().hasPrefix("HTTP/1.1 200 "))
            for socket in [silent, half, used] { #expect(await socket.closedByPeer()) }
        }
    }

    @Test func `a head that comes byte by byte gives its place back`() async throws {
        let monitor = Monitor(
            host: "127.0.0.1", port: 0, version: "0", logger: .quiet, idleTimeout: .seconds(3_600),
            headTimeout: .milliseconds(500), secret: { nil }, guessesPerMinute: { 0 },
            readiness: { Answer(200, DoneAnswer()) }, metrics: { Answer(200, DoneAnswer()) })
        try await monitor.serving { port in
            let slow = try Socket(port: port)
            slow.send("GET /healthz HTTP/1.1\r\nHost:")
            #expect(await slow.closedByPeer())
            let whole = try Socket(port: port)
            whole.send(Self.request)
            #expect(await whole.readAnswer().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `one connection too many is answered when another one ends`() async throws {
        try await run(idleTimeout: .seconds(3_600)) { port in
            var held: [Socket] = []
            for _ in 0..<256 {
                let socket = try Socket(port: port)
                socket.resetOnClose()
                socket.send(Self.request)
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
                held.append(socket)
            }
            let next = try Socket(port: port)
            next.send(Self.request)
            // Those that have a place are answered meanwhile.
            for socket in held {
                socket.send(Self.request)
                #expect(await socket.readAnswer().hasPrefix("HTTP/1.1 200 "))
            }
            #expect(!next.isReadable && !held.contains(where: \.isClosedByPeer))
            held.removeLast()
            #expect(await next.readAnswer().hasPrefix("HTTP/1.1 200 "))
        }
    }
}
