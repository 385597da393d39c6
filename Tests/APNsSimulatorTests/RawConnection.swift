import NIOCore
import NIOPosix
import OpenSSL
import TLSChannel
import Testing

@testable import APNsSimulator

/// An HTTP/2 client that sends exactly the frames of a test and shows every frame that comes. Requests are numbered
/// from 0, and request N is stream 2N + 1.
final class RawConnection: Sendable {
    struct Frame: Sendable {
        var type: UInt8
        var flags: UInt8
        var stream: UInt32
        var payload: [UInt8]

        var isAcknowledgement: Bool { flags & 1 != 0 }
        var endsStream: Bool { flags & 1 != 0 }

        func word(at offset: Int) -> UInt32 { payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

        /// SETTINGS_MAX_CONCURRENT_STREAMS of a SETTINGS frame.
        var streams: UInt32? {
            guard type == FrameType.settings.rawValue, !isAcknowledgement else { return nil }
            return stride(from: 0, to: payload.count, by: 6).first { payload[$0] == 0 && payload[$0 + 1] == 3 }
                .map { word(at: $0 + 2) }
        }

        /// `:status`, which the simulator writes first, either indexed or as a literal.
        var status: Int? {
            switch payload.first {
            case 0x88: 200
            case 0x8c: 400
            case 0x8d: 404
            case 0x8e: 500
            case 0x08: Int(String(decoding: payload[2..<5], as: UTF8.self))
            default: nil
            }
        }
    }

    /// The server closed the connection before the expected frame came.
    struct Closed: Error {}

    struct Answer {
        var status: Int?
        var body = ""
        var reset: UInt32?
    }

    private let channel: any Channel
    private let frames: AsyncStream<Frame>

    private init(channel: any Channel, frames: AsyncStream<Frame>) {
        self.channel = channel
        self.frames = frames
    }

    static func open(
        _ simulator: APNsSimulator, port: Int? = nil, applicationProtocol: String? = "h2"
    ) async throws -> RawConnection {
        let server = TLSServer(
            host: "localhost", caFile: simulator.caFile, applicationProtocol: applicationProtocol)
        let (frames, input) = AsyncStream<Frame>.makeStream()
        // A busy machine must not look like a server that does not answer.
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connectTimeout(.hours(1))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(try TLSSession(server)), FrameHandler(input),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port ?? simulator.port).get()
        let connection = RawConnection(channel: channel, frames: frames)
        var hello = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        hello.writeSettings([])
        // A server may send GOAWAY and close at once. Its frames are then in `frames`.
        try? await connection.send(hello)
        return connection
    }

    func send(_ bytes: ByteBuffer) async throws { try await channel.writeAndFlush(bytes) }

    func close() async { try? await channel.close() }

    func acknowledgeSettings() async throws {
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(.settings, length: 0, flags: FrameFlags.acknowledgement)
        try await send(bytes)
    }

    func ping() async throws {
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(.ping, length: 8)
        bytes.writeInteger(UInt64(7))
        try await send(bytes)
    }

    func push(
        _ number: Int, token: String? = nil, payload: String = SimulatorFixture.update(1_763_700_000),
        headers: [(String, String)]
    ) async throws {
        try await send(Self.request(number, token: token, payload: payload, headers: headers))
    }

    /// Allows `increment` more bytes of responses, on the connection and on the request's stream.
    func allow(_ increment: Int, stream number: Int) async throws {
        var bytes = ByteBuffer()
        bytes.writeWindowUpdate(increment, stream: 0)
        bytes.writeWindowUpdate(increment, stream: UInt32(number * 2 + 1))
        try await send(bytes)
    }

    static func request(
        _ number: Int, token: String? = nil, method: String = "POST", path: String? = nil,
        payload: String = SimulatorFixture.update(1_763_700_000), headers: [(String, String)]
    ) -> ByteBuffer {
        let stream = UInt32(number * 2 + 1)
        let path = path ?? "/3/device/\(token ?? SimulatorFixture.token(number))"
        var block = ByteBuffer()
        for (name, value) in [(":method", method), (":scheme", "https"), (":path", path)] + headers {
            block.writeInteger(UInt8(0))
            writeText(name, to: &block)
            writeText(value, to: &block)
        }
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(.headers, length: block.readableBytes, flags: FrameFlags.endHeaders, stream: stream)
        bytes.writeBuffer(&block)
        bytes.writeFrameHeader(.data, length: payload.utf8.count, flags: FrameFlags.endStream, stream: stream)
        bytes.writeString(payload)
        return bytes
    }

    /// Writes a string literal without Huffman coding (RFC 7541, 5.2).
    private static func writeText(_ text: String, to block: inout ByteBuffer) {
        var length = text.utf8.count
        if length < 127 {
            block.writeInteger(UInt8(length))
        } else {
            block.writeInteger(UInt8(127))
            length -= 127
            while length >= 128 {
                block.writeInteger(UInt8(length & 127 | 128))
                length >>= 7
            }
            block.writeInteger(UInt8(length))
        }
        block.writeString(text)
    }

    /// The next frame. Nil when the server has closed the connection.
    func next() async -> Frame? {
        for await frame in frames { return frame }
        return nil
    }

    /// Reads frames up to the first for which `wanted` returns a value.
    func first<Value>(_ wanted: (Frame) -> Value?) async throws -> Value {
        while let frame = await next() {
            if let value = wanted(frame) { return value }
        }
        throw Closed()
    }

    func answer(stream number: Int) async throws -> Answer {
        var answer = Answer()
        return try await first { frame in
            guard frame.stream == UInt32(number * 2 + 1) else { return nil }
            switch frame.type {
            case FrameType.headers.rawValue: answer.status = frame.status
            case FrameType.data.rawValue: answer.body += String(decoding: frame.payload, as: UTF8.self)
            case FrameType.rstStream.rawValue:
                answer.reset = frame.word(at: 0)
                return answer
            default: return nil
            }
            return frame.endsStream ? answer : nil
        }
    }

    struct Goaway {
        var lastStream: UInt32
        var code: UInt32
        var text: String
    }

    func goaway() async throws -> Goaway {
        try await first { frame in
            guard frame.type == FrameType.goaway.rawValue else { return nil }
            return Goaway(
                lastStream: frame.word(at: 0), code: frame.word(at: 4),
                text: String(decoding: frame.payload[8...], as: UTF8.self))
        }
    }

    /// Waits until the server closes, and returns the frames that still came.
    func remaining() async -> [Frame] {
        var frames: [Frame] = []
        while let frame = await next() { frames.append(frame) }
        return frames
    }
}

private final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let frames: AsyncStream<RawConnection.Frame>.Continuation
    private var input = ByteBuffer()

    init(_ frames: AsyncStream<RawConnection.Frame>.Continuation) { self.frames = frames }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        while true {
            var rest = input
            guard let header = FrameHeader(&rest), let payload = rest.readBytes(length: header.length) else { return }
            input.moveReaderIndex(forwardBy: FrameHeader.size + header.length)
            frames.yield(
                RawConnection.Frame(
                    type: header.type?.rawValue ?? 255, flags: header.flags, stream: header.stream, payload: payload))
        }
    }

    func channelInactive(context: ChannelHandlerContext) { frames.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
