internal import CHiredis
internal import Glibc

/// One connection and the hiredis reader for its replies. It owns the reader and everything to which the reader points.
/// It is made, used and freed on one thread, and never copied.
struct RedisLink: ~Copyable {
    let wire: RedisWire
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let builder: UnsafeMutablePointer<ReplyBuilder>
    private let input: UnsafeMutableRawBufferPointer

    /// Bytes that were appended to this link but not written yet: `outgoing[written...]`.
    private var outgoing: [UInt8] = []
    private var written = 0
    /// How many bytes were appended and written since the link was made.
    private(set) var appendedTotal = 0
    private(set) var writtenTotal = 0

    /// Connects, with TLS if the URL asks for it. Blocks the connection's thread.
    /// TCP and TLS each take at most the connect timeout, but name resolution has no limit. TLS ends at once when the
    /// mailbox closes.
    init(_ address: RedisAddress, _ settings: ConnectionSettings, _ mailbox: Mailbox) throws(LinkFailure) {
        let wire = try RedisWire(address, timeout: settings.options.connectTimeout)
        if settings.url.usesTLS {
            try wire.encrypt(settings.options.tls, within: settings.options.connectTimeout, mailbox)
        }
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(to: ReplyBuilder.readerFunctions())
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            functions.deallocate()
            throw .broken("out of memory")
        }
        (self.wire, self.reader, self.functions) = (wire, reader, functions)
        builder = .allocate(capacity: 1)
        builder.initialize(to: ReplyBuilder())
        reader.pointee.privdata = UnsafeMutableRawPointer(builder)
        // Without this, hiredis frees its buffer each time it was read to the end.
        reader.pointee.maxbuf = 1 << 20
        input = .allocate(byteCount: 128 << 10, alignment: 16)
        largestBuffered = ReplyBuilder.Limits.stringBytes + input.count
    }

    /// Frees the reader first, because it points to the functions and the builder.
    deinit {
        redisReaderFree(reader)
        functions.deallocate()
        builder.deinitialize(count: 1)
        builder.deallocate()
        input.deallocate()
    }

    /// The most bytes that hiredis may hold of a string that has not fully arrived.
    private let largestBuffered: Int

    var hasUnwritten: Bool { written < outgoing.count }
    var events: Int16 { wire.events(forWriting: hasUnwritten) }

    mutating func append(_ bytes: [UInt8]) {
        if outgoing.isEmpty { outgoing = bytes } else { outgoing.append(contentsOf: bytes) }
        appendedTotal += bytes.count
    }

    /// Writes as much as the socket takes now.
    mutating func flush() throws(LinkFailure) {
        while hasUnwritten {
            let result: Result<Int?, LinkFailure> = outgoing.withUnsafeBytes { bytes in
                Result { () throws(LinkFailure) in try wire.write(UnsafeRawBufferPointer(rebasing: bytes[written...])) }
            }
            guard let count = try result.get() else {
                // Free the written bytes: a slow server must not make the buffer keep all that passed through it.
                if written > 1 << 20, written > outgoing.count / 2 {
                    outgoing.removeFirst(written)
                    written = 0
                }
                return
            }
            written += count
            writtenTotal += count
        }
        outgoing = []
        written = 0
    }

    /// Sets how many replies the next arena consists of.
    func expect(replies: Int) { builder.pointee.begin(replies: replies) }

    /// Reads once what has arrived and gives it to the reader. False if nothing was there.
    func receive() throws(LinkFailure) -> Bool {
        guard let count = try wire.read(into: input) else { return false }
        guard redisReaderFeed(reader, input.baseAddress, count) == REDIS_OK else { throw violation() }
        return true
    }

    enum Progress {
        /// More bytes have to arrive first.
        case needsMore(repliesRead: Int)
        case complete(ReplyArena)
    }

    /// Parses received replies, up to the end of the batch that `expect` announced.
    func readReplies() throws(LinkFailure) -> Progress {
        let before = builder.pointee.completed
        while builder.pointee.completed < builder.pointee.expected {
            var reply: UnsafeMutableRawPointer?
            guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw violation() }
            guard reply != nil else {
                guard reader.pointee.len - reader.pointee.pos <= largestBuffered else {
                    throw .protocolViolation("a string of more than \(largestBuffered) bytes")
                }
                return .needsMore(repliesRead: builder.pointee.completed - before)
            }
            builder.pointee.completeOne()
        }
        return .complete(builder.pointee.finish())
    }

    /// Whether bytes were received but not parsed. If no reply is due, the server sent something without a command.
    var hasUnread: Bool { reader.pointee.len > reader.pointee.pos }
    /// The first error reply of the current batch.
    var errorSoFar: String? { builder.pointee.firstError }

    private func violation() -> LinkFailure {
        if let text = builder.pointee.violation { return .protocolViolation(text) }
        let text = withUnsafeBytes(of: reader.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return .protocolViolation("protocol error: \(text)")
    }
}
