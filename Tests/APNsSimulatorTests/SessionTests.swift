import NGHTTP2
import NIOCore
import Testing

@testable import APNsSimulator

/// Tests HTTP/2 by RFC 9113, byte by byte, without a socket.
struct SessionTests {
    private let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    private func session() throws -> HTTP2Session {
        var session = HTTP2Session(initialStreams: 1)
        var hello = preface
        hello.writeSettings([])
        session.append(hello)
        try expectNoEvent(&session)
        _ = session.takeOutput()
        return session
    }

    private func expectNoEvent(_ session: inout HTTP2Session) throws {
        let event = try session.next()
        #expect(event == nil)
    }

    private func output(_ session: inout HTTP2Session) throws -> ByteBuffer {
        let output = session.takeOutput()
        return try #require(output)
    }

    private func header(_ bytes: inout ByteBuffer) throws -> FrameHeader {
        let header = FrameHeader(&bytes)
        return try #require(header)
    }

    private func frame(
        _ type: FrameType, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(type, length: payload.count, flags: flags, stream: stream)
        bytes.writeBytes(payload)
        return bytes
    }

    private func request(_ number: Int, payload: String = "{}") -> ByteBuffer {
        RawConnection.request(number, payload: payload, headers: [("apns-priority", "5")])
    }

    /// The result is the same however the bytes are cut.
    @Test(arguments: [1, 2, 7, 64, 1_000]) func `bytes in any pieces`(size: Int) throws {
        var session = HTTP2Session(initialStreams: 1)
        var bytes = preface
        bytes.writeSettings([(SettingID.initialWindowSize, 70_000)])
        for number in 0..<3 { bytes.writeImmutableBuffer(request(number, payload: "{\"n\":\(number)}")) }
        var requests: [UInt32] = []
        while bytes.readableBytes > 0 {
            guard let piece = bytes.readSlice(length: min(size, bytes.readableBytes)) else { break }
            session.append(piece)
            while let event = try session.next() {
                if case .request(let id) = event { requests.append(id) }
            }
        }
        #expect(requests == [1, 3, 5])
        for number in 0..<3 {
            #expect(session.streams[UInt32(number * 2 + 1)]?.body == ByteBuffer(string: "{\"n\":\(number)}"))
            #expect(session.streams[UInt32(number * 2 + 1)]?.head.priority == "5")
        }
    }

    @Test func `what ends the connection`() throws {
        let broken: [(name: String, bytes: ByteBuffer, code: HTTP2ErrorCode)] = [
            ("PUSH_PROMISE", frame(.pushPromise, stream: 1, [0, 0, 0, 2]), .protocolError),
            ("an even stream", frame(.headers, flags: 4, stream: 2), .protocolError),
            ("stream 0", frame(.headers, flags: 4, stream: 0), .protocolError),
            ("DATA on an idle stream", frame(.data, stream: 9, [1]), .protocolError),
            ("RST_STREAM on an idle stream", frame(.rstStream, stream: 9, [0, 0, 0, 0]), .protocolError),
            ("RST_STREAM of three bytes", frame(.rstStream, stream: 1, [0, 0, 0]), .frameSizeError),
            ("PING of seven bytes", frame(.ping, [1, 2, 3, 4, 5, 6, 7]), .frameSizeError),
            ("SETTINGS of five bytes", frame(.settings, [1, 2, 3, 4, 5]), .frameSizeError),
            ("an acknowledgement too many", acknowledgements(2), .protocolError),
            ("a window update of 0", frame(.windowUpdate, [0, 0, 0, 0]), .protocolError),
            ("a window over 2^31 - 1", frame(.windowUpdate, [0x7f, 0xff, 0xff, 0xff]), .flowControlError),
            ("CONTINUATION of nothing", frame(.continuation, flags: 4, stream: 1), .protocolError),
            ("a header block that is none", frame(.headers, flags: 4, stream: 1, [0x80]), .compressionError),
            ("few bytes that mean 18 KB of fields", manyFields(), .compressionError),
            ("padding longer than the frame", frame(.headers, flags: 0xc, stream: 1, [9, 0x82]), .protocolError),
            ("a frame over 16384 bytes", oversized(), .frameSizeError),
            ("a frame between HEADERS and CONTINUATION", interrupted(), .protocolError),
        ]
        for test in broken {
            var session = try session()
            session.append(test.bytes)
            #expect(violation(&session) == test.code, "\(test.name)")
        }
        var noPreface = HTTP2Session(initialStreams: 1)
        noPreface.append(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(violation(&noPreface) == .protocolError)
    }

    private func violation(_ session: inout HTTP2Session) -> HTTP2ErrorCode? {
        do {
            while try session.next() != nil {}
            return nil
        } catch {
            return error
        }
    }

    private func acknowledgements(_ count: Int) -> ByteBuffer {
        var bytes = ByteBuffer()
        for _ in 0..<count { bytes.writeImmutableBuffer(frame(.settings, flags: 1)) }
        return bytes
    }

    private func oversized() -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeFrameHeader(.data, length: 16_385, stream: 1)
        return bytes
    }

    /// A field of 3,000 bytes, which comes five times more from the table.
    private func manyFields() -> ByteBuffer {
        let value: [UInt8] = [0x7f, 0xb9, 0x16] + Array(repeating: UInt8(ascii: "x"), count: 3_000)
        let repeats: [UInt8] = Array(repeating: 0xbe, count: 5)
        return frame(.headers, flags: 4, stream: 1, [0x40, 1, UInt8(ascii: "x")] + value + repeats)
    }

    private func interrupted() -> ByteBuffer {
        var bytes = frame(.headers, stream: 1, [0x83])
        bytes.writeImmutableBuffer(frame(.ping, [0, 0, 0, 0, 0, 0, 0, 0]))
        return bytes
    }

    /// libcurl 7.88 resets every stream whose response it has read. This must have no effect.
    @Test func `resets of answered streams are ignored`() throws {
        var session = try session()
        for number in 0..<5_000 {
            let id = UInt32(number * 2 + 1)
            session.append(request(number))
            guard case .request(id)? = try session.next() else {
                Issue.record("no request \(number)")
                return
            }
            session.answer(id, status: 200, messageID: MessageID(high: 1, low: 2), body: [])
            session.append(frame(.rstStream, stream: id, [0, 0, 0, 5]))
            try expectNoEvent(&session)
            _ = session.takeOutput()
        }
        #expect(session.streams.isEmpty)
    }

    @Test func `an answer waits for the clients window`() throws {
        var session = HTTP2Session(initialStreams: 1)
        var hello = preface
        hello.writeSettings([(SettingID.initialWindowSize, 10)])
        session.append(hello)
        session.append(request(0))
        guard case .request(1)? = try session.next() else {
            Issue.record("no request")
            return
        }
        _ = session.takeOutput()
        session.answer(1, status: 400, messageID: MessageID(high: 1, low: 2), body: Array(repeating: 0x41, count: 24))
        var begun = try output(&session)
        let first = try header(&begun)
        #expect(first.type == .headers && !first.has(FrameFlags.endStream))
        begun.moveReaderIndex(forwardBy: first.length)
        let part = try header(&begun)
        #expect(part.type == .data && !part.has(FrameFlags.endStream) && part.length == 10)
        #expect(begun.readableBytes == 10)
        session.append(frame(.windowUpdate, stream: 1, [0, 0, 0, 14]))
        try expectNoEvent(&session)
        var data = try output(&session)
        let dataHeader = try header(&data)
        #expect(dataHeader.type == .data && dataHeader.has(FrameFlags.endStream) && dataHeader.length == 14)
        #expect(session.streams.isEmpty)
    }

    @Test func `a wrong content length resets the stream`() throws {
        var session = try session()
        session.append(RawConnection.request(0, payload: "{}", headers: [("content-length", "3")]))
        try expectNoEvent(&session)
        var bytes = try output(&session)
        let reset = try header(&bytes)
        #expect(reset.type == .rstStream)
        #expect(session.streams.isEmpty)
    }

    /// The requests of RFC 7541, C.4: Huffman codes, and a table that one block fills for the next.
    @Test func `header blocks of the RFC`() throws {
        let decoder = HeaderDecoder()
        func decode(_ block: [UInt8]) throws -> [String] {
            try block.withUnsafeBytes { try decoder.decode($0, limit: 16 << 10) }.map { "\($0.name): \($0.value)" }
        }
        let first = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"]
        #expect(
            try decode([
                0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
            ]) == first)
        #expect(
            try decode([0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf])
                == first + ["cache-control: no-cache"])
        #expect(try decode([]).isEmpty)
    }

    @Test func `any answer is valid HPACK`() throws {
        for status in [200, 400, 403, 404, 405, 410, 413, 429, 500, 503] {
            var bytes = ByteBuffer()
            let id = MessageID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210)
            bytes.writeAnswerHeaders(status: status, id: id, endStream: true, stream: 7)
            let first = try header(&bytes)
            #expect(first.length == bytes.readableBytes && first.stream == 7)
            let fields = try bytes.withUnsafeReadableBytes { try HeaderDecoder().decode($0, limit: 16 << 10) }
            #expect(fields.first { $0.name == ":status" }?.value == "\(status)")
            #expect(fields.first { $0.name == "apns-id" }?.value == "01234567-89ab-cdef-fedc-ba9876543210")
        }
    }
}
