import Delivery
import NGHTTP2
import Testing

@testable import Lanes

/// Tests the HTTP/2 session with a server that the test writes frame by frame.
@Suite struct ClientSessionTests {
    private let session: ClientSession
    private let template: SharedRequest

    init() throws {
        session = try ClientSession(capacity: 8)
        template = try #require(
            SharedRequest(
                authority: "apns.example", fields: [("authorization", "bearer x.y.z"), ("apns-priority", "10")],
                body: Array(#"{"aps":{}}"#.utf8)))
    }

    // MARK: Frames of the server

    private static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, flags] + number(stream) + payload
    }

    private static func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) } }

    private static func settings(streams: UInt32) -> [UInt8] { frame(4, [0, 3] + number(streams)) }
    /// The whole response `:status: 200`.
    private static func ok(_ stream: UInt32) -> [UInt8] { frame(1, flags: 5, stream: stream, [0x88]) }
    private static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { frame(3, stream: stream, number(code)) }
    private static func goaway(last: UInt32, _ text: String = "") -> [UInt8] {
        frame(7, number(last) + number(0) + Array(text.utf8))
    }
    /// A `:status` of three digits, and then fields without Huffman coding or table.
    private static func head(_ stream: UInt32, _ status: String, _ fields: [(String, String)], ends: Bool) -> [UInt8] {
        var block: [UInt8] = [0x08, 3] + Array(status.utf8)
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        return frame(1, flags: ends ? 5 : 4, stream: stream, block)
    }

    private static func receive(_ bytes: [UInt8], in session: ClientSession) throws {
        try bytes.withUnsafeBytes { try session.receive($0) }
    }

    private func receive(_ frames: [UInt8]...) throws {
        try Self.receive(frames.flatMap { $0 }, in: session)
    }

    private func submit(_ path: String = "/3/device/ab", at now: Int64 = 0) throws(NGHTTP2Error) -> Int? {
        try Array(path.utf8).withUnsafeBufferPointer { (bytes) throws(NGHTTP2Error) in
            try session.submit(template, path: bytes, now: now)
        }
    }

    private func takeOutput(_ count: Int? = nil) -> [UInt8] {
        var taken: [UInt8] = []
        session.withOutput { bytes in
            taken = Array(bytes.prefix(count ?? bytes.count))
            return taken.count
        }
        return taken
    }

    private func ended() -> [EndedStream] {
        var all: [EndedStream] = []
        while let ended = session.nextEnded() { all.append(ended) }
        return all
    }

    // MARK: Limits

    @Test func `one stream until the server says more`() throws {
        #expect(session.serverLimit == 1)
        #expect(try submit() != nil)
        #expect(try submit() == nil)
        try receive(Self.settings(streams: 3))
        #expect(session.serverLimit == 3)
        #expect(try submit() != nil)
        #expect(try submit() != nil)
        #expect(try submit() == nil)
        #expect(session.inFlight == 3)
    }

    @Test func `a server that names no limit has none but our capacity`() throws {
        try receive(Self.frame(4, []))
        for _ in 0..<8 { #expect(try submit() != nil) }
        #expect(try submit() == nil)
    }

    @Test func `all fields of an answer are kept for a traced request alone`() throws {
        let session = try ClientSession(capacity: 8)
        let traced = try #require(SharedRequest(authority: "a", fields: [], body: [1], isTraced: true))
        let path = Array("/3/device/ab".utf8)
        try Self.receive(Self.frame(4, []), in: session)
        let slots = try path.withUnsafeBufferPointer { bytes in
            [
                try session.submit(traced, path: bytes, now: 0), try session.submit(template, path: bytes, now: 0),
            ]
        }
        let fields = [("apns-id", "id-7"), ("apns-unique-id", "u-7")]
        try Self.receive(
            Self.head(1, "200", fields, ends: true) + Self.head(3, "200", fields, ends: true), in: session)
        let ended = [session.nextEnded(), session.nextEnded()].compactMap { $0?.slot }
        #expect(ended == slots.compactMap { $0 })
        #expect(session.fields(ended[0]).map { "\($0.name)=\($0.value)" } == ["apns-id=id-7", "apns-unique-id=u-7"])
        #expect(session.fields(ended[1]).isEmpty)
        for slot in ended { session.release(slot) }
        #expect(session.fields(ended[0]).isEmpty)
    }

    @Test func `a slot is taken until it is released`() throws {
        try receive(Self.frame(4, []))
        for _ in 0..<8 { _ = try submit() }
        try receive(Self.ok(1))
        let first = try #require(ended().first)
        #expect(first.status == 200 && first.end == .complete)
        #expect(try submit() == nil)
        session.release(first.slot)
        #expect(try submit() == first.slot)
    }

    @Test func `a server that does not read stops requests not memory`() throws {
        let session = try ClientSession(capacity: 1_000)
        let large = try #require(
            SharedRequest(authority: "a", fields: [], body: [UInt8](repeating: 0x20, count: 4_096)))
        let frames = Self.frame(4, [0, 3] + Self.number(1_000)) + Self.frame(8, Self.number(64 << 20))
        try Self.receive(frames, in: session)
        var begun = 0
        try Array("/p".utf8).withUnsafeBufferPointer { (path) throws(NGHTTP2Error) in
            while try session.submit(large, path: path, now: 0) != nil { begun += 1 }
        }
        #expect(begun > 10 && begun < 100)
    }

    // MARK: Ends

    @Test func `the request is written whole and the token only in its path`() throws {
        _ = try submit("/3/device/abcdef")
        let bytes = takeOutput()
        #expect(bytes.starts(with: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)))
        #expect(bytes.suffix(10).elementsEqual(Array(#"{"aps":{}}"#.utf8)))
        #expect(bytes.suffix(19).starts(with: [0, 0, 10, 0, 1, 0, 0, 0, 1]))
    }

    @Test func `refused and above a GOAWAY are unprocessed others are not`() throws {
        try receive(Self.settings(streams: 8))
        for _ in 0..<4 { _ = try submit() }
        try receive(Self.reset(1, 7), Self.reset(3, 2))
        #expect(ended().map(\.end) == [.unprocessed, .reset(2)])
        try receive(Self.goaway(last: 5, #"{"reason":"Shutdown"}"#))
        #expect(ended().map(\.end) == [.unprocessed])
        let goaway = try #require(session.goaway)
        #expect(goaway.lastStreamID == 5 && goaway.errorCode == 0)
        #expect(goaway.text == #"{"reason":"Shutdown"}"#)
        // The session accepts no more requests, but waits for the one below the id.
        #expect(try submit() == nil)
        #expect(session.inFlight == 1)
        try receive(Self.ok(5))
        #expect(ended().map(\.status) == [200])
    }

    @Test func `what never left is unprocessed when the connection ends`() throws {
        try receive(Self.settings(streams: 8))
        _ = try submit()
        let first = takeOutput().count
        #expect(first > 0)
        _ = try submit()
        _ = try submit()
        // One byte of the second request is sent.
        #expect(takeOutput(1).count == 1)
        session.endAll()
        #expect(ended().sorted { $0.slot < $1.slot }.map(\.end) == [.lost, .lost, .unprocessed])
        #expect(session.inFlight == 0)
        #expect(try submit() == nil)
    }

    @Test func `an answer that was read counts though its end is missing`() throws {
        _ = try submit()
        _ = takeOutput()
        try receive(Self.settings(streams: 8), Self.head(1, "200", [], ends: false))
        session.endAll()
        let end = try #require(ended().first)
        #expect(RequestFate(end) == .answered(status: 200))
    }

    @Test func `an error's body and retry after are kept`() throws {
        _ = try submit()
        try receive(
            Self.settings(streams: 8),
            Self.head(1, "429", [("apns-id", "0123abcd"), ("retry-after", "17")], ends: false),
            Self.frame(0, flags: 1, stream: 1, Array(#"{"reason":"TooManyRequests"}"#.utf8)))
        let end = try #require(ended().first)
        #expect(end.status == 429 && end.end == .complete)
        #expect(session.retryAfter(end.slot) == Array("17".utf8))
        #expect(session.withAnswer(end.slot) { Array($0) } == Array(#"{"reason":"TooManyRequests"}"#.utf8))
    }

    @Test func `an answers body is read but kept in part`() throws {
        _ = try submit()
        try receive(Self.settings(streams: 8), Self.head(1, "500", [], ends: false))
        for last in [false, false, true] {
            try receive(Self.frame(0, flags: last ? 1 : 0, stream: 1, [UInt8](repeating: 0x41, count: 1_000)))
        }
        let end = try #require(ended().first)
        #expect(session.withAnswer(end.slot) { $0.count } == 1_024)
        session.release(end.slot)
        // The next response in this slot begins empty.
        _ = try submit()
        try receive(Self.head(3, "500", [], ends: true))
        #expect(session.withAnswer(try #require(ended().first).slot) { $0.count } == 0)
    }

    /// Nothing is kept of them but two, so their number does no harm.
    @Test func `an answer with very many fields is an answer`() throws {
        _ = try submit()
        try receive(Self.settings(streams: 8))
        let fields = [(String, String)](repeating: ("x", String(repeating: "y", count: 100)), count: 150)
        try receive(Self.head(1, "503", fields + [("retry-after", "7")], ends: true))
        let end = try #require(ended().first)
        #expect(end.end == .complete && end.status == 503)
        #expect(session.retryAfter(end.slot) == Array("7".utf8))
    }

    /// Bodies and fields of 1,000 answers that come at once, part by part.
    @Test func `long answers on all streams at once are kept in part`() throws {
        let session = try ClientSession(capacity: 1_000)
        try Self.receive(Self.settings(streams: 1_000) + Self.frame(8, Self.number(64 << 20)), in: session)
        try Array("/p".utf8).withUnsafeBufferPointer { (path) throws(NGHTTP2Error) in
            while try session.submit(template, path: path, now: 0) != nil { session.withOutput(\.count) }
        }
        #expect(session.inFlight == 1_000)
        let streams = (0..<1_000).map { UInt32(2 * $0 + 1) }
        let fields = [(String, String)](repeating: ("x", String(repeating: "y", count: 100)), count: 100)
        for stream in streams { try Self.receive(Self.head(stream, "500", fields, ends: false), in: session) }
        for round in 0..<4 {
            for stream in streams {
                let bytes = [UInt8](repeating: 0x41, count: 8_000)
                try Self.receive(Self.frame(0, flags: round == 3 ? 1 : 0, stream: stream, bytes), in: session)
            }
            // Bytes that were read make room for more: the server is not held up by what is dropped.
            #expect(session.outputBytes < ClientSession.outputLimit)
            session.withOutput(\.count)
        }
        var kept: [Int] = []
        while let ended = session.nextEnded() { kept.append(session.withAnswer(ended.slot, \.count)) }
        #expect(kept == [Int](repeating: 1_024, count: 1_000))
    }

    /// A server that has not acknowledged our SETTINGS yet may promise. Nothing of the promise is taken for the answer.
    @Test(arguments: [false, true])
    func `a promise is refused, and ends the connection once our settings are acknowledged`(
        isAcknowledged: Bool
    ) throws {
        _ = try submit()
        _ = takeOutput()
        try receive(Self.settings(streams: 8))
        if isAcknowledged { try receive(Self.frame(4, flags: 1, [])) }
        // GET https://a/ as stream 2. The method has as many letters as a status has digits.
        let promise = Self.number(2) + [0x82, 0x87, 0x84, 0x41, 1, 0x61]
        try receive(Self.frame(5, flags: 4, stream: 1, promise), Self.ok(1))
        _ = takeOutput()
        #expect(session.isFinished == isAcknowledged)
        session.endAll()
        #expect(ended().map(RequestFate.init) == [isAcknowledged ? .unknown(.connectionLost) : .answered(status: 200)])
    }

    @Test func `a late stream is reset and told from one that is not`() throws {
        try receive(Self.settings(streams: 8))
        _ = try submit(at: 1_000)
        _ = try submit(at: 2_000)
        _ = takeOutput()
        #expect(try session.endLate(startedBy: 1_500) == 2_000)
        #expect(ended().map(\.end) == [.late])
        // This is RST_STREAM of stream 1 with CANCEL.
        #expect(takeOutput() == Self.reset(1, 8))
        #expect(try session.endLate(startedBy: 2_000) == nil)
        #expect(ended().map(\.end) == [.late])
    }

    @Test func `a PING is answered and ours is counted`() throws {
        try receive(Self.settings(streams: 8))
        _ = takeOutput()
        try receive(Self.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(takeOutput().suffix(17).elementsEqual(Self.frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])))
        try session.ping()
        let ping = takeOutput()
        #expect(ping.prefix(5).elementsEqual([0, 0, 8, 6, 0]))
        try receive(Self.frame(6, flags: 1, Array(ping.suffix(8))))
        #expect(session.pongs == 1)
    }

    @Test func `a server that breaks the rules is left`() throws {
        _ = try submit()
        // DATA comes before any SETTINGS, on a stream that does not exist.
        try receive(Self.frame(0, stream: 99, [1, 2, 3]))
        _ = takeOutput()
        #expect(session.isFinished)
    }

    @Test func `fields that HTTP/2 cannot hold are refused`() {
        #expect(SharedRequest.isSafe(name: "apns-topic", value: "com.example"))
        for (name, value) in [
            ("Apns-Topic", "x"), ("a b", "x"), ("", "x"), ("a", "x\r\ny"), ("a", " x"), ("a", "x\u{0}"), (":path", "x"),
        ] {
            #expect(!SharedRequest.isSafe(name: name, value: value))
            #expect(SharedRequest(authority: "a", fields: [(name, value)], body: []) == nil)
        }
    }
}
