internal import CHiredis

/// hiredis's reader with the replies that it builds. It takes bytes of a server and no socket, so a test can feed it
/// anything. It owns all to which the reader points, and belongs to one thread.
final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let builder: UnsafeMutablePointer<ReplyBuilder>
    /// The most bytes that hiredis may hold of a string that has not fully arrived.
    private let largestBuffered: Int

    /// - Parameter pieceBytes: the most bytes of one `feed`
    init(pieceBytes: Int) throws(LinkFailure) {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(to: ReplyBuilder.readerFunctions())
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            functions.deallocate()
            throw .broken("out of memory")
        }
        (self.reader, self.functions) = (reader, functions)
        builder = .allocate(capacity: 1)
        builder.initialize(to: ReplyBuilder())
        reader.pointee.privdata = UnsafeMutableRawPointer(builder)
        // Without this, hiredis frees its buffer each time it was read to the end.
        reader.pointee.maxbuf = 1 << 20
        largestBuffered = ReplyBuilder.Limits.stringBytes + pieceBytes
    }

    /// Frees the reader first, because it points to the functions and the builder.
    deinit {
        redisReaderFree(reader)
        functions.deallocate()
        builder.deinitialize(count: 1)
        builder.deallocate()
    }

    /// Sets how many replies the next arena consists of.
    func expect(replies: Int) { builder.pointee.begin(replies: replies) }

    func feed(_ bytes: UnsafeRawBufferPointer) throws(LinkFailure) {
        guard redisReaderFeed(reader, bytes.baseAddress, bytes.count) == REDIS_OK else { throw violation() }
    }

    enum Progress {
        /// More bytes have to arrive first.
        case needsMore(repliesRead: Int)
        case complete(ReplyArena)
    }

    /// Parses received replies, up to the end of the batch that `expect` announced.
    func read() throws(LinkFailure) -> Progress {
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
