internal import NGHTTP2
internal import NIOCore

/// The server's side of one HTTP/2 connection, without a clock or a socket. Bytes go in, events come out, and responses
/// go into `output`. A frame that breaks RFC 9113 throws the error code with which the connection must end.
struct HTTP2Session {
    enum Event: Equatable {
        /// A request was read to its end and waits in `streams`.
        case request(UInt32)
        /// The client reset a stream. It is no longer in `streams`.
        case cancelled(UInt32)
        /// The client opened more streams than allowed. Nothing of this one is kept.
        case excess(UInt32)
        /// The client opened a stream after our GOAWAY. Nothing of it is kept.
        case unprocessed(UInt32)
        /// The client sent GOAWAY and opens no more streams.
        case leaving
    }

    struct Stream {
        var head: RequestHead
        /// At most `keptBody` bytes. Further bytes are only counted.
        var body = ByteBuffer()
        var bodyBytes = 0
        var receiveWindow: Int
        var sendWindow: Int
        var isRead = false
        var isAnswered = false
        /// The part of the response's body for which the client's windows have no room yet.
        var waiting: ArraySlice<UInt8>?
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let streamWindow = 65_535
    private static let connectionWindow = 16 << 20
    private static let headerListLimit = 16 << 10

    private(set) var streams: [UInt32: Stream] = [:]
    /// The newest stream of the client that is processed, or was.
    private(set) var lastStream: UInt32 = 0
    /// The last stream id in our GOAWAY.
    private(set) var goawayLastStream: UInt32?
    var output = ByteBuffer()

    private let keptBody: Int
    private var input = ByteBuffer()
    private var prefaceIsRead = false
    private var settingsAreRead = false
    private let headers = HeaderDecoder()
    /// A header block whose CONTINUATION frames have not all come.
    private var unfinished: (stream: UInt32, flags: UInt8, block: ByteBuffer)?
    private var receiveWindow = Self.connectionWindow
    private var sendWindow = 65_535
    private var initialSendWindow = 65_535
    /// Whether any stream has a `waiting` body.
    private var someWait = false
    /// The stream limit in force: the newest one that the client has acknowledged. Nil before the first.
    private var limit: Int?
    private var unacknowledged: [Int]
    /// The newest stream limit that was sent.
    private(set) var announcedStreams: Int

    /// - Parameter keptBody: the most bytes of a request's body that are kept, one more than the service accepts
    init(initialStreams: Int, keptBody: Int = max(Judge.maximumPayload, Judge.maximumBroadcast) + 1) {
        self.keptBody = keptBody
        announcedStreams = initialStreams
        output.writeSettings([
            (SettingID.maximumConcurrentStreams, UInt32(initialStreams)),
            (SettingID.maximumHeaderListSize, UInt32(Self.headerListLimit)),
        ])
        output.writeWindowUpdate(Self.connectionWindow - 65_535, stream: 0)
        unacknowledged = [initialStreams]
    }

    /// How many requests were read to their end and wait for a response.
    var unansweredStreams: Int { streams.count { $0.value.isRead && !$0.value.isAnswered } }

    // MARK: Sending

    mutating func announce(streams: Int) {
        guard streams != announcedStreams else { return }
        announcedStreams = streams
        unacknowledged.append(streams)
        output.writeSettings([(SettingID.maximumConcurrentStreams, UInt32(streams))])
    }

    /// Sends a response and ends the stream. The body may have to wait for room in the client's windows.
    mutating func answer(
        _ id: UInt32, status: Int, messageID: MessageID?, idName: StaticString = "apns-id",
        fields: [(name: String, value: String)] = [], body: [UInt8]
    ) {
        guard streams[id]?.isAnswered == false else { return }
        output.writeAnswerHeaders(
            status: status, id: messageID, idName: idName, fields: fields, endStream: body.isEmpty, stream: id)
        guard !body.isEmpty else {
            streams[id] = nil
            return
        }
        streams[id]?.isAnswered = true
        streams[id]?.waiting = body[...]
        sendWaiting(id)
    }

    private mutating func sendWaiting(_ id: UInt32) {
        guard let index = streams.index(forKey: id), var body = streams.values[index].waiting else { return }
        while !body.isEmpty {
            let room = min(sendWindow, streams.values[index].sendWindow)
            let count = min(body.count, room, FrameHeader.maximumPayload)
            guard count > 0 else {
                streams.values[index].waiting = body
                someWait = true
                return
            }
            sendWindow -= count
            streams.values[index].sendWindow -= count
            let flags = count == body.count ? FrameFlags.endStream : 0
            output.writeFrameHeader(.data, length: count, flags: flags, stream: id)
            output.writeBytes(body.prefix(count))
            body = body.dropFirst(count)
        }
        streams[id] = nil
    }

    mutating func reset(_ id: UInt32, _ code: HTTP2ErrorCode) {
        streams[id] = nil
        output.writeReset(code, stream: id)
    }

    /// Sends GOAWAY and drops the streams above `lastStream`. Returns how many of them waited for a response.
    mutating func goaway(lastStream: UInt32, _ code: HTTP2ErrorCode, text: String) -> Int {
        goawayLastStream = lastStream
        output.writeGoaway(lastStream: lastStream, code, text: text)
        let before = unansweredStreams
        streams = streams.filter { $0.key <= lastStream }
        return before - unansweredStreams
    }

    /// Drops all streams. Returns how many of them waited for a response.
    mutating func dropStreams() -> Int {
        defer { streams = [:] }
        return unansweredStreams
    }

    mutating func takeOutput() -> ByteBuffer? {
        guard output.readableBytes > 0 else { return nil }
        defer { output = ByteBuffer() }
        return output
    }

    // MARK: Receiving

    mutating func append(_ bytes: ByteBuffer) {
        if input.readableBytes == 0 {
            input = bytes
        } else {
            // Copy the bytes: bodies still share the old buffer, so appending to it would never free what was read.
            var joined = ByteBuffer()
            joined.reserveCapacity(input.readableBytes + bytes.readableBytes)
            joined.writeImmutableBuffer(input)
            joined.writeImmutableBuffer(bytes)
            input = joined
        }
    }

    /// The next event. Nil if more bytes are needed.
    mutating func next() throws(HTTP2ErrorCode) -> Event? {
        if !prefaceIsRead {
            let count = min(input.readableBytes, Self.preface.count)
            guard input.readableBytesView.prefix(count).elementsEqual(Self.preface.prefix(count)) else {
                throw .protocolError
            }
            guard count == Self.preface.count else { return nil }
            input.moveReaderIndex(forwardBy: count)
            prefaceIsRead = true
        }
        while true {
            var rest = input
            guard let header = FrameHeader(&rest) else { return nil }
            guard header.length <= FrameHeader.maximumPayload else { throw .frameSizeError }
            guard var payload = rest.readSlice(length: header.length) else { return nil }
            input.moveReaderIndex(forwardBy: FrameHeader.size + header.length)
            if let event = try receive(header, &payload) { return event }
        }
    }

    private mutating func receive(_ header: FrameHeader, _ payload: inout ByteBuffer) throws(HTTP2ErrorCode) -> Event? {
        if unfinished != nil, header.type != .continuation { throw .protocolError }
        if !settingsAreRead {
            guard header.type == .settings, !header.has(FrameFlags.acknowledgement) else { throw .protocolError }
            settingsAreRead = true
        }
        switch header.type {
        case .headers: return try receiveHeaders(header, &payload)
        case .continuation: return try receiveContinuation(header, &payload)
        case .data: return try receiveData(header, &payload)
        case .settings: try receiveSettings(header, &payload)
        case .windowUpdate: try receiveWindowUpdate(header, &payload)
        case .rstStream:
            guard header.length == 4 else { throw .frameSizeError }
            guard header.stream != 0, header.stream <= lastStream || isAfterGoaway(header.stream) else {
                throw .protocolError
            }
            return streams.removeValue(forKey: header.stream).flatMap {
                $0.isRead && !$0.isAnswered ? .cancelled(header.stream) : nil
            }
        case .ping:
            guard header.length == 8 else { throw .frameSizeError }
            guard header.stream == 0 else { throw .protocolError }
            if !header.has(FrameFlags.acknowledgement) {
                output.writeFrameHeader(.ping, length: 8, flags: FrameFlags.acknowledgement)
                output.writeBuffer(&payload)
            }
        case .goaway: return .leaving
        case .pushPromise: throw .protocolError
        case .priority, nil: break
        }
        return nil
    }

    private func isAfterGoaway(_ stream: UInt32) -> Bool { goawayLastStream.map { stream > $0 } ?? false }

    private static func removePadding(_ header: FrameHeader, _ payload: inout ByteBuffer) throws(HTTP2ErrorCode) {
        guard header.has(FrameFlags.padded) else { return }
        guard let padding = payload.readInteger(as: UInt8.self), Int(padding) <= payload.readableBytes else {
            throw .protocolError
        }
        payload.moveWriterIndex(to: payload.writerIndex - Int(padding))
    }

    private mutating func receiveHeaders(
        _ header: FrameHeader, _ payload: inout ByteBuffer
    ) throws(HTTP2ErrorCode) -> Event? {
        guard header.stream % 2 == 1 else { throw .protocolError }
        try Self.removePadding(header, &payload)
        if header.has(FrameFlags.priority) {
            guard payload.readableBytes >= 5 else { throw .frameSizeError }
            payload.moveReaderIndex(forwardBy: 5)
        }
        guard header.has(FrameFlags.endHeaders) else {
            unfinished = (header.stream, header.flags, payload)
            return nil
        }
        return try open(header.stream, header.flags, payload)
    }

    private mutating func receiveContinuation(
        _ header: FrameHeader, _ payload: inout ByteBuffer
    ) throws(HTTP2ErrorCode) -> Event? {
        guard let (stream, flags, start) = unfinished, stream == header.stream else { throw .protocolError }
        var block = start
        block.writeBuffer(&payload)
        guard block.readableBytes <= 64 << 10 else { throw .enhanceYourCalm }
        guard header.has(FrameFlags.endHeaders) else {
            unfinished = (stream, flags, block)
            return nil
        }
        unfinished = nil
        return try open(stream, flags, block)
    }

    /// Decodes every header block, even if the request is then ignored: the HPACK table belongs to the connection.
    private mutating func open(_ id: UInt32, _ flags: UInt8, _ block: ByteBuffer) throws(HTTP2ErrorCode) -> Event? {
        let decoded = block.withUnsafeReadableBytes { bytes in
            Result { () throws(NGHTTP2Error) in try headers.decode(bytes, limit: Self.headerListLimit) }
        }
        guard case .success(let fields) = decoded else { throw .compressionError }
        let endsStream = flags & FrameFlags.endStream != 0
        if streams[id] != nil {
            // These header fields are trailers, which must end the request.
            guard endsStream, streams[id]?.isRead == false else { throw .protocolError }
            return finishReading(id)
        }
        if isAfterGoaway(id) { return .unprocessed(id) }
        guard id > lastStream else { return nil }
        if let limit, streams.count >= limit { return .excess(id) }
        lastStream = id
        let head = RequestHead(fields)
        if head.isMalformed {
            output.writeReset(.protocolError, stream: id)
            return nil
        }
        streams[id] = Stream(head: head, receiveWindow: Self.streamWindow, sendWindow: initialSendWindow)
        return endsStream ? finishReading(id) : nil
    }

    /// Marks a refused stream as seen, so that its further frames are ignored.
    mutating func forget(_ id: UInt32) { lastStream = max(lastStream, id) }

    private mutating func finishReading(_ id: UInt32) -> Event? {
        guard let stream = streams[id] else { return nil }
        if let length = stream.head.contentLength, length != stream.bodyBytes {
            reset(id, .protocolError)
            return nil
        }
        streams[id]?.isRead = true
        return .request(id)
    }

    private mutating func receiveData(
        _ header: FrameHeader, _ payload: inout ByteBuffer
    ) throws(HTTP2ErrorCode) -> Event? {
        guard header.stream != 0, header.stream <= lastStream || isAfterGoaway(header.stream) else {
            throw .protocolError
        }
        receiveWindow -= header.length
        guard receiveWindow >= 0 else { throw .flowControlError }
        if receiveWindow < Self.connectionWindow / 2 {
            output.writeWindowUpdate(Self.connectionWindow - receiveWindow, stream: 0)
            receiveWindow = Self.connectionWindow
        }
        try Self.removePadding(header, &payload)
        // The stream was answered, reset or refused, but the client may not know that yet.
        guard let index = streams.index(forKey: header.stream) else { return nil }
        guard !streams.values[index].isRead else {
            let isUnanswered = !streams.values[index].isAnswered
            reset(header.stream, .streamClosed)
            return isUnanswered ? .cancelled(header.stream) : nil
        }
        let endsStream = header.has(FrameFlags.endStream)
        streams.values[index].bodyBytes += payload.readableBytes
        streams.values[index].receiveWindow -= header.length
        guard streams.values[index].receiveWindow >= 0 else { throw .flowControlError }
        if !endsStream, streams.values[index].receiveWindow < Self.streamWindow / 2 {
            output.writeWindowUpdate(Self.streamWindow - streams.values[index].receiveWindow, stream: header.stream)
            streams.values[index].receiveWindow = Self.streamWindow
        }
        let kept = streams.values[index].body.readableBytes
        if kept == 0, payload.readableBytes <= keptBody {
            streams.values[index].body = payload
        } else if kept < keptBody,
            var part = payload.readSlice(length: min(payload.readableBytes, keptBody - kept))
        {
            streams.values[index].body.writeBuffer(&part)
        }
        return endsStream ? finishReading(header.stream) : nil
    }

    private mutating func receiveSettings(_ header: FrameHeader, _ payload: inout ByteBuffer) throws(HTTP2ErrorCode) {
        guard header.stream == 0 else { throw .protocolError }
        if header.has(FrameFlags.acknowledgement) {
            guard header.length == 0 else { throw .frameSizeError }
            guard !unacknowledged.isEmpty else { throw .protocolError }
            limit = unacknowledged.removeFirst()
            return
        }
        guard header.length.isMultiple(of: 6) else { throw .frameSizeError }
        while let (id, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) {
            switch id {
            case SettingID.initialWindowSize:
                guard value <= 0x7fff_ffff else { throw .flowControlError }
                let change = Int(value) - initialSendWindow
                initialSendWindow = Int(value)
                for id in streams.keys { streams[id]?.sendWindow += change }
            case SettingID.maximumFrameSize:
                guard (16_384...16_777_215).contains(value) else { throw .protocolError }
            default: break
            }
        }
        output.writeFrameHeader(.settings, length: 0, flags: FrameFlags.acknowledgement)
        sendAllWaiting()
    }

    private mutating func receiveWindowUpdate(_ header: FrameHeader, _ payload: inout ByteBuffer) throws(HTTP2ErrorCode)
    {
        guard header.length == 4, let field = payload.readInteger(as: UInt32.self) else { throw .frameSizeError }
        let increment = Int(field & 0x7fff_ffff)
        guard increment > 0 else { throw .protocolError }
        if header.stream == 0 {
            sendWindow += increment
            guard sendWindow <= 0x7fff_ffff else { throw .flowControlError }
            sendAllWaiting()
        } else if streams[header.stream] != nil {
            streams[header.stream]?.sendWindow += increment
            sendWaiting(header.stream)
        }
    }

    private mutating func sendAllWaiting() {
        guard someWait else { return }
        someWait = false
        for id in streams.filter({ $0.value.waiting != nil }).keys.sorted() { sendWaiting(id) }
    }
}
