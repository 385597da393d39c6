internal import CHiredis
internal import Glibc

/// One connected wire with hiredis' reader behind it. Owner of the reader and what the reader points to; made, used and freed
/// on one thread, and copied nowhere.
struct RedisLink: ~Copyable {
    private let wire: RedisWire
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let builder: UnsafeMutablePointer<ReplyBuilder>
    private let input: UnsafeMutableRawBufferPointer

    /// Appended to this link and not yet written: `outgoing[written...]`.
    private var outgoing: [UInt8] = []
    private var written = 0
    /// Bytes appended, and written, since the link was made.
    private(set) var appendedTotal = 0
    private(set) var writtenTotal = 0

    /// Blocks the connection's thread for at most the connect timeout, apart from the system's name resolution, and as long for
    /// TLS, where the URL asks for it; that ends at once when the mailbox closes.
    init(_ address: RedisAddress, _ settings: ConnectionSettings, _ mailbox: Mailbox) throws(LinkFailure) {
        let wire = try RedisWire(address, timeout: settings.options.connectTimeout)
        if settings.url.usesTLS {
            try wire.encrypt(settings.options.tls, within: settings.options.connectTimeout, mailbox)
        }
        let limits = settings.limits
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(to: ReplyBuilder.readerFunctions())
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            functions.deallocate()
            throw .broken("out of memory")
        }
        self.wire = wire
        self.reader = reader
        self.functions = functions
        builder = .allocate(capacity: 1)
        builder.initialize(to: ReplyBuilder(limits: limits))
        reader.pointee.privdata = UnsafeMutableRawPointer(builder)
        // Else hiredis frees its buffer whenever it has been read to the end.
        reader.pointee.maxbuf = 1 << 20
        input = .allocate(byteCount: 128 << 10, alignment: 16)
        largestBuffered = limits.stringBytes + input.count
    }

    /// The reader first: it points to the functions and the builder.
    deinit {
        redisReaderFree(reader)
        functions.deallocate()
        builder.deinitialize(count: 1)
        builder.deallocate()
        input.deallocate()
    }

    /// What hiredis may hold of a string that is still coming in.
    private let largestBuffered: Int

    var descriptor: Int32 { wire.descriptor }
    var hasUnwritten: Bool { written < outgoing.count }
    /// What to poll for.
    var events: Int16 { wire.events(forWriting: hasUnwritten) }
    /// Something has arrived that shows on no descriptor: `receive` comes before the next wait.
    var hasBuffered: Bool { wire.hasBuffered }
    func isReadable(after events: Int16) -> Bool { wire.isReadable(after: events) }
    /// The 3 of TLS 1.3; 0 without TLS.
    var tlsMinorVersion: Int { wire.tlsMinorVersion }
    var hasEndedSilently: Bool { wire.hasEndedSilently }

    mutating func append(_ bytes: [UInt8]) {
        if outgoing.isEmpty { outgoing = bytes } else { outgoing.append(contentsOf: bytes) }
        appendedTotal += bytes.count
    }

    /// Writes what the socket takes now.
    mutating func flush() throws(LinkFailure) {
        while hasUnwritten {
            let result: Result<Int?, LinkFailure> = outgoing.withUnsafeBytes { bytes in
                Result { () throws(LinkFailure) in try wire.write(UnsafeRawBufferPointer(rebasing: bytes[written...])) }
            }
            guard let count = try result.get() else {
                // A server that reads slowly must not make the buffer keep all that ever went through it.
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

    /// Says how many replies the next arena consists of.
    func expect(replies: Int) { builder.pointee.begin(replies: replies) }

    /// Reads what has arrived into the reader, once. False when nothing was there.
    func receive() throws(LinkFailure) -> Bool {
        guard let count = try wire.read(into: input) else { return false }
        guard redisReaderFeed(reader, input.baseAddress, count) == REDIS_OK else { throw violation() }
        return true
    }

    enum Progress {
        /// More has to arrive.
        case needsMore(repliesRead: Int)
        case complete(ReplyArena)
    }

    /// Reads replies out of what was received, up to the end of the batch that `expect` announced.
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

    /// Received and not read: something the server was not asked for, when no reply is owed.
    var hasUnread: Bool { reader.pointee.len > reader.pointee.pos }

    /// The first error reply of the batch that is being read.
    var errorSoFar: String? { builder.pointee.firstError }

    private func violation() -> LinkFailure {
        if let text = builder.pointee.violation { return .protocolViolation(text) }
        let text = withUnsafeBytes(of: reader.pointee.errstr) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return .protocolViolation("protocol error: \(text)")
    }
}
