import Foundation
import HummingbirdCore
import NIOCore
import NIOEmbedded
import ServiceLifecycle
import TestSupport
import Testing

@testable import HTTPAPI

/// A gateway that stops says so to clients that keep their connections, before it closes them.
@Suite(.timeLimit(.minutes(2))) struct DrainTests {
    private static let request = "GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"

    @Test func `a request that comes while the gateway stops is answered with Connection close`() async throws {
        try await GatewayFixture.run { gateway in
            let (busy, idle) = (try Client(gateway.port), try Client(gateway.port))
            for client in [busy, idle] {
                client.send(Self.request)
                #expect(await client.answer().lowercased().contains("connection: close") == false)
            }
            async let stopped: Void = gateway.group.triggerGracefulShutdown()
            // The gateway takes no more connections, so it has begun to stop.
            try await eventually("the gateway stops") { (try? Client(gateway.port)) == nil }
            busy.send(Self.request)
            let answer = await busy.answer()
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.lowercased().contains("connection: close"), "\(answer)")
            for client in [busy, idle] { #expect(await client.answer() == "", "it is closed") }
            await stopped
        }
    }

    /// A client that keeps its connection.
    private final class Client: Sendable {
        private let socket: Int32

        init(_ port: Int) throws { socket = try connectedSocket(port: port) }
        deinit { close(socket) }

        func send(_ text: String) { _ = Foundation.send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }

        /// The next answer. Empty if the connection is closed.
        func answer() async -> String {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { [socket] in
                    var bytes = [UInt8](repeating: 0, count: 4_096)
                    let count = recv(socket, &bytes, bytes.count, 0)
                    continuation.resume(returning: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
                }
            }
        }
    }

    /// A server that stops drops connections that wait for their tasks. NIO would end the process then.
    @Test func `a connection that nobody takes is closed`() async throws {
        let channel = NIOAsyncTestingChannel()
        let gateway = GatewayChannel(
            http: HTTP1Channel(responder: { _, _, _ in }, configuration: .init()), addresses: AddressLimit(8),
            headTimeout: .seconds(30), tasks: nil, turns: nil, identity: { nil })
        try await channel.eventLoop.flatSubmit {
            gateway.setup(channel: channel, logger: .quiet).map { _ in }
        }.get()
        try await channel.closeFuture.get()
    }
}
