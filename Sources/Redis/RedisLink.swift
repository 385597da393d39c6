internal import CHiredis
internal import Glibc

/// Why a link is of no use any more.
enum LinkFailure: Error {
    /// The peer is gone, or never was there.
    case broken(String)
    /// The peer speaks something that is not what it promised.
    case protocolViolation(String)
    /// The server said no to AUTH or SELECT.
    case refused(RedisError)

    var why: String {
        switch self {
        case .broken(let text), .protocolViolation(let text): text
        case .refused(let error): error.description
        }
    }
}

/// One connected socket with hiredis' reader on it. Owner of the `redisContext`, the reader and what the reader points to;
/// made, used and freed on one thread, and copied nowhere.
///
/// hiredis connects and parses. Reading and writing are done here: its own write raises SIGPIPE on a closed connection
/// and copies a pipeline once more, and its own read takes 16 KiB at a time.
struct RedisLink: ~Copyable {
    private let context: UnsafeMutablePointer<redisContext>
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

    /// Blocks up to `timeout`, apart from the system's name resolution.
    init(_ address: RedisAddress, timeout: Duration, limits: ReplyLimits) throws(LinkFailure) {
        let made =
            switch address {
            case .tcp(let host, let port): redisConnectWithTimeout(host, Int32(port), timeval(timeout))
            case .unix(let path): redisConnectUnixWithTimeout(path, timeval(timeout))
            }
        guard let made else { throw .broken("out of memory") }
        guard made.pointee.err == 0 else {
            let text = withUnsafeBytes(of: made.pointee.errstr) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            redisFree(made)
            throw .broken(text)
        }
        if case .tcp = address { redisEnableKeepAlive(made) }
        _ = fcntl(made.pointee.fd, F_SETFD, FD_CLOEXEC)
        _ = fcntl(made.pointee.fd, F_SETFL, fcntl(made.pointee.fd, F_GETFL) | O_NONBLOCK)
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(to: ReplyBuilder.readerFunctions())
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            functions.deallocate()
            redisFree(made)
            throw .broken("out of memory")
        }
        context = made
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
        redisFree(context)
        functions.deallocate()
        builder.deinitialize(count: 1)
        builder.deallocate()
        input.deallocate()
    }

    /// What hiredis may hold of a string that is still coming in.
    private let largestBuffered: Int

    var descriptor: Int32 { context.pointee.fd }
    var hasUnwritten: Bool { written < outgoing.count }

    mutating func append(_ bytes: [UInt8]) {
        if outgoing.isEmpty { outgoing = bytes } else { outgoing.append(contentsOf: bytes) }
        appendedTotal += bytes.count
    }

    /// Writes what the socket takes now.
    mutating func flush() throws(LinkFailure) {
        while hasUnwritten {
            let count = outgoing.withUnsafeBytes {
                let rest = UnsafeRawBufferPointer(rebasing: $0[written...])
                return send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                written += count
                writtenTotal += count
            } else if errno == EAGAIN {
                // A server that reads slowly must not make the buffer keep all that ever went through it.
                if written > 1 << 20, written > outgoing.count / 2 {
                    outgoing.removeFirst(written)
                    written = 0
                }
                return
            } else if errno != EINTR {
                throw .broken(String(cString: strerror(errno)))
            }
        }
        outgoing = []
        written = 0
    }

    /// Says how many replies the next arena consists of.
    func expect(replies: Int) { builder.pointee.begin(replies: replies) }

    /// Reads what has arrived into the reader, once. False when nothing was there.
    func receive() throws(LinkFailure) -> Bool {
        while true {
            let count = recv(descriptor, input.baseAddress, input.count, 0)
            if count > 0 {
                guard redisReaderFeed(reader, input.baseAddress, count) == REDIS_OK else { throw violation() }
                return true
            }
            if count == 0 { throw .broken("the server closed the connection") }
            if errno == EAGAIN { return false }
            if errno != EINTR { throw .broken(String(cString: strerror(errno))) }
        }
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

extension timeval {
    init(_ duration: Duration) {
        let parts = max(duration, .milliseconds(1)).components
        self.init(tv_sec: Int(clamping: parts.seconds), tv_usec: Int(parts.attoseconds / 1_000_000_000_000))
    }
}

/// Waits for the descriptors' events. Nil waits without end. An interrupted wait counts as one without events.
func wait(for descriptors: inout [pollfd], timeout: Duration?) {
    var milliseconds: Int32 = -1
    if let timeout {
        let parts = max(timeout, .zero).components
        // Rounded up, so that a deadline has passed when the wait for it ends.
        let whole = parts.seconds.multipliedReportingOverflow(by: 1_000)
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        milliseconds = whole.overflow ? .max : Int32(clamping: whole.partialValue + rest)
    }
    let count = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
}
