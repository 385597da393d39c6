import Foundation
import NIOCore
import NIOEmbedded
import NIOTLS
import OpenSSL
import TLSChannel
import TestSupport
import Testing

@testable import APNsSimulator

/// Two pipelines. The test carries the bytes between them.
@Suite struct TLSHandlerTests {
    private final class Events: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var protocols: [String?] = []
        var errors: [any Error] = []

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let name)? = event as? TLSUserEvent { protocols.append(name) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append(error) }
    }

    private struct End {
        let channel: EmbeddedChannel
        let events = Events()

        init(_ session: TLSSession) throws {
            channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandlers([TLSHandler(session), events])
        }

        func connect() throws { try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait() }

        func received() throws -> String {
            var text = ""
            while let bytes = try channel.readInbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
    }

    private let client: End
    private let server: End

    init() throws {
        let authority = try CertificateAuthority(commonName: "CA", validity: -3_600...3_600)
        let leaf = try authority.issue(commonName: "test", hosts: ["localhost"], validity: -3_600...3_600)
        let directory = try TemporaryDirectory()
        try directory.write("ca.pem", authority.identity().certificate)
        client = try End(
            TLSSession(
                TLSServer(host: "localhost", caFile: directory.path("ca.pem"), applicationProtocol: "h2")))
        server = try End(TLSSession(TLSIdentity(leaf, applicationProtocol: "h2")))
    }

    /// Moves bytes until both ends have none left.
    private func carry() throws {
        var isMoving = true
        while isMoving {
            isMoving = false
            for (sender, receiver) in [(client, server), (server, client)] {
                while let bytes = try sender.channel.readOutbound(as: ByteBuffer.self) {
                    isMoving = true
                    if receiver.channel.isActive { try receiver.channel.writeInbound(bytes) }
                }
            }
        }
    }

    private func open() throws {
        try client.connect()
        try server.connect()
        try carry()
    }

    @Test func `bytes written before the handshake arrive behind it`() throws {
        let early = client.channel.writeAndFlush(ByteBuffer(string: "early"))
        try open()
        try early.wait()
        #expect(client.events.protocols == ["h2"] && server.events.protocols == ["h2"])
        #expect(try server.received() == "early")
        try server.channel.writeAndFlush(ByteBuffer(string: "answer")).wait()
        try carry()
        #expect(try client.received() == "answer")
    }

    @Test func `a write waits for its flush`() throws {
        try open()
        let write = server.channel.write(ByteBuffer(string: "x"))
        #expect(try server.channel.readOutbound(as: ByteBuffer.self) == nil)
        server.channel.flush()
        try write.wait()
        try carry()
        #expect(try client.received() == "x")
    }

    @Test func `a close waits for the peer's, and the peer answers it`() throws {
        try open()
        _ = server.channel.writeAndFlush(ByteBuffer(string: "last"))
        let closed = server.channel.close()
        #expect(server.channel.isActive)
        try carry()
        #expect(try client.received() == "last")
        #expect(!client.channel.isActive && !server.channel.isActive)
        try closed.wait()
        #expect(client.events.errors.isEmpty && server.events.errors.isEmpty)
    }

    @Test func `a close does not wait long`() throws {
        try open()
        let closed = server.channel.close()
        let again = server.channel.close()
        server.channel.embeddedEventLoop.advanceTime(by: .milliseconds(199))
        #expect(server.channel.isActive)
        server.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!server.channel.isActive)
        try closed.wait()
        try again.wait()
        #expect(throws: ChannelError.self) { try server.channel.writeAndFlush(ByteBuffer(string: "x")).wait() }
    }

    @Test func `bytes that come while it closes are not passed on`() throws {
        try open()
        let closed = server.channel.close()
        try client.channel.writeAndFlush(ByteBuffer(string: "late")).wait()
        try carry()
        #expect(try server.received() == "")
        try closed.wait()
    }

    @Test func `a handshake that fails fails what was written, and says why`() throws {
        try server.connect()
        try client.connect()
        let early = server.channel.writeAndFlush(ByteBuffer(string: "early"))
        try server.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(server.events.errors.count == 1 && server.events.errors.first is TLSError)
        #expect(!server.channel.isActive)
        #expect(throws: ChannelError.self) { try early.wait() }
        #expect(server.events.protocols.isEmpty)
    }

    @Test func `a connection that is lost ends without an error`() throws {
        let early = client.channel.writeAndFlush(ByteBuffer(string: "early"))
        try client.connect()
        client.channel.pipeline.fireChannelInactive()
        #expect(throws: ChannelError.self) { try early.wait() }
        #expect(client.events.errors.isEmpty)
    }
}
