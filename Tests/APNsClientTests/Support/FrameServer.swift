import APNsClient
import NIOCore
import NIOPosix
import OpenSSL
import Synchronization
import TLSChannel
import TestSupport

@testable import APNsSimulator

/// An HTTP/2 server that sends the frames of a test, even wrong ones. It reads only enough to know when a
/// request is complete.
final class FrameServer: Sendable {
    struct Script: Sendable {
        /// Identifiers and values of its SETTINGS. Each connection asks for them.
        var settings: @Sendable () -> [(id: UInt16, value: UInt32)] = { [(3, 100)] }
        /// Whether its SETTINGS come with the first complete request, before the response. Otherwise
        /// they come first of all.
        var settingsWithFirstRequest = false
        /// The frames that answer a complete request.
        var answer: @Sendable (_ stream: UInt32) -> [UInt8] = { FrameServer.answer($0, status: 200) }
        /// The body after these frames, as the client's flow-control windows allow. Nil: the frames are all.
        var longBody: [UInt8]?
    }

    let port: Int
    let caFile: String
    private let authority: TestAuthority
    private let listener: any Channel
    /// A thread of its own: the answers of another test, some of them large, hold up none of this one.
    private let group: MultiThreadedEventLoopGroup
    private let requestCount: Atomics
    private let keyPEM: [UInt8]

    final class Atomics: Sendable {
        let requests = Atomic(0)
        let connections = Atomic(0)
    }

    /// How many requests have arrived completely.
    var requests: Int { requestCount.requests.load(ordering: .relaxed) }
    var connections: Int { requestCount.connections.load(ordering: .relaxed) }

    /// Starts a server. Its certificate is for `names`, and has the common name `commonName`.
    static func start(
        _ script: Script = Script(), names: [String] = ["localhost", "127.0.0.1"], commonName: String = "test"
    ) async throws -> FrameServer {
        let authority = try TestAuthority()
        let identity = try authority.issue("frames", host: names, commonName: commonName)
        let tls = try TLSIdentity(identity.pem, applicationProtocol: "h2")
        let counts = Atomics()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(try TLSSession(tls)), FrameScriptHandler(script, counts),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FrameServer(listener, group, authority, counts, keyPEM: try P256SigningKey.generatePEM())
    }

    private init(
        _ listener: any Channel, _ group: MultiThreadedEventLoopGroup, _ authority: TestAuthority, _ counts: Atomics,
        keyPEM: [UInt8]
    ) {
        self.keyPEM = keyPEM
        self.listener = listener
        self.group = group
        self.authority = authority
        requestCount = counts
        port = listener.localAddress?.port ?? 0
        caFile = authority.caFile
    }

    func stop() async {
        try? await listener.close()
        try? await group.shutdownGracefully()
    }

    /// The configuration of a transport to this server. Its key is new, because this server does not check it.
    func client(host: String = "127.0.0.1", timeout: Duration = .seconds(60)) -> APNsConfiguration {
        APNsConfiguration(
            origin: "https://\(host):\(port)", teamID: "TEAM123456", keyID: "KEY1234567",
            keyPEM: keyPEM, caFile: caFile, requestTimeout: timeout)
    }

    // MARK: Frames

    /// The most bytes of a frame's payload, unless the client allows more.
    static let frameLimit = 16_384

    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let count = UInt32(payload.count)
        return [UInt8(truncatingIfNeeded: count >> 16), UInt8(truncatingIfNeeded: count >> 8)]
            + [UInt8(truncatingIfNeeded: count), type, flags] + bytes(stream) + payload
    }

    static func settings(_ settings: [(id: UInt16, value: UInt32)]) -> [UInt8] {
        let payload = settings.flatMap {
            [UInt8(truncatingIfNeeded: $0.id >> 8), UInt8(truncatingIfNeeded: $0.id)] + bytes($0.value)
        }
        return frame(4, stream: 0, payload)
    }

    /// HEADERS and DATA. No field's name or value is longer than 126 bytes, so each length is one byte.
    /// - Parameter ends: without a body, whether the stream ends with the HEADERS
    static func answer(
        _ stream: UInt32, status: Int, fields: [(String, String)] = [], body: String = "", ends: Bool = true
    ) -> [UInt8] {
        var block: [UInt8] = [0x08, 3] + Array("\(status)".utf8)
        for (name, value) in fields {
            block += [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        // HEADERS, then CONTINUATIONs. END_HEADERS is in the last.
        let starts = Array(stride(from: 0, to: block.count, by: frameLimit))
        let head = starts.flatMap { start in
            let part = Array(block[start..<min(start + frameLimit, block.count)])
            let endsStream: UInt8 = start == 0 && body.isEmpty && ends ? 0x01 : 0
            return frame(
                start == 0 ? 1 : 9, flags: endsStream | (start == starts.last ? 0x04 : 0), stream: stream, part)
        }
        return body.isEmpty ? head : head + frame(0, flags: 0x01, stream: stream, Array(body.utf8))
    }

    static func bytes(_ word: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
}

private final class FrameScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let script: FrameServer.Script
    private let counts: FrameServer.Atomics
    private var input = ByteBuffer()
    private var hasPreface = false
    private var hasSaidSettings = false
    private var bodies = LongBodies()

    init(_ script: FrameServer.Script, _ counts: FrameServer.Atomics) {
        self.script = script
        self.counts = counts
    }

    func channelActive(context: ChannelHandlerContext) { counts.connections.add(1, ordering: .relaxed) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        var output: [UInt8] = []
        if !hasPreface {
            guard input.readBytes(length: 24) != nil else { return }
            hasPreface = true
            if !script.settingsWithFirstRequest { output += settings() }
        }
        while let header = input.getBytes(at: input.readerIndex, length: 9) {
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            guard input.readableBytes >= 9 + length else { break }
            input.moveReaderIndex(forwardBy: 9)
            let payload = input.readBytes(length: length) ?? []
            let stream = header[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            output += reply(header[3], flags: header[4], stream, payload)
        }
        guard !output.isEmpty else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: output)), promise: nil)
    }

    private func settings() -> [UInt8] {
        hasSaidSettings = true
        return FrameServer.settings(script.settings())
    }

    private func reply(_ type: UInt8, flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let isAcknowledgement = flags & 1 != 0
        switch type {
        case 4 where !isAcknowledgement: return hasSaidSettings ? FrameServer.frame(4, flags: 1, stream: 0) : []
        case 8: return bodies.update(stream, by: payload.reduce(0) { $0 << 8 | Int($1) })
        case 6 where !isAcknowledgement: return FrameServer.frame(6, flags: 1, stream: 0, payload)
        case 0, 1:
            var output: [UInt8] = []
            // Open the connection's window again, so that it never stops a request.
            if type == 0, !payload.isEmpty {
                output += FrameServer.frame(8, stream: 0, FrameServer.bytes(UInt32(payload.count)))
            }
            // END_STREAM
            guard flags & 1 != 0 else { return output }
            counts.requests.add(1, ordering: .relaxed)
            if !hasSaidSettings { output = settings() + FrameServer.frame(4, flags: 1, stream: 0) + output }
            return output + script.answer(stream) + (script.longBody.map { bodies.begin(stream, $0) } ?? [])
        default: return []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
