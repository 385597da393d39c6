internal import CHiredis
internal import Glibc
internal import OpenSSL

/// The way of the bytes: a socket that hiredis has connected, and TLS on it where the URL asks for it. Owner of both; made, used
/// and freed on the connection's thread.
///
/// hiredis connects and parses. Reading and writing are done here: its own write raises SIGPIPE on a closed connection
/// and copies a pipeline once more, and its own read takes 16 KiB at a time. OpenSSL writes without MSG_NOSIGNAL, but the
/// thread has blocked SIGPIPE like every signal, so that a closed connection is an error code here too.
final class RedisWire {
    private let context: UnsafeMutablePointer<redisContext>
    private let address: RedisAddress
    private var tls: TLSConnection?
    /// Under TLS reading may have to wait until something can be written, and the other way round.
    private var readWants = Int16(POLLIN)
    private var writeWants = Int16(POLLOUT)
    /// OpenSSL holds something that was taken from the socket, and was not found to be only a part of a record.
    private(set) var hasBuffered = false
    /// The server has said something.
    private var hasHeard = false
    /// The server has hung up, without TLS.
    private var hasEnded = false
    /// Not a word more through TLS, not even close_notify.
    private var hasFailed = false
    private var files = RedisTLSFiles()

    /// Blocks up to `timeout`, apart from the system's name resolution.
    init(_ address: RedisAddress, timeout: Duration) throws(LinkFailure) {
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
        context = made
        self.address = address
    }

    /// TLS first: it points to the socket.
    deinit {
        if !hasFailed { tls?.close() }
        tls = nil
        redisFree(context)
    }

    var descriptor: Int32 { context.pointee.fd }
    /// The 3 of TLS 1.3; 0 without TLS.
    var tlsMinorVersion: Int { tls?.minorVersion ?? 0 }

    /// A server on TCP that hung up, without TLS, before it said anything: as those do that wait for TLS.
    var hasEndedSilently: Bool { if case .tcp = address { hasEnded && !hasHeard } else { false } }

    func events(forWriting: Bool) -> Int16 { forWriting ? readWants | writeWants : readWants }

    /// Whether `read` may find something.
    func isReadable(after events: Int16) -> Bool { hasBuffered || events & ~(Int16(POLLOUT) & ~readWants) != 0 }

    /// Writes what the socket takes now; nil when it takes nothing.
    func write(_ bytes: UnsafeRawBufferPointer) throws(LinkFailure) -> Int? {
        guard let tls else {
            return try transfer { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
        switch try told({ () throws(TLSError) in try tls.write(bytes) }) {
        case .done(let count):
            if writeWants == Int16(POLLIN) { hasBuffered = tls.hasBuffered }
            writeWants = Int16(POLLOUT)
            return count
        case .wantsWrite: writeWants = Int16(POLLOUT)
        case .wantsRead: writeWants = Int16(POLLIN)
        }
        return nil
    }

    /// Reads what has arrived, a record at most under TLS; nil when nothing was there.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkFailure) -> Int? {
        guard let tls else { return try readPlain(into: buffer) }
        switch try told({ () throws(TLSError) in try tls.read(into: buffer) }) {
        case .done(let count):
            readWants = Int16(POLLIN)
            hasBuffered = tls.hasBuffered
            hasHeard = true
            return count
        // What OpenSSL holds now is the beginning of a record: the rest will show on the socket.
        case .wantsRead: readWants = Int16(POLLIN)
        case .wantsWrite: readWants = Int16(POLLOUT)
        }
        hasBuffered = false
        return nil
    }

    private func readPlain(into buffer: UnsafeMutableRawBufferPointer) throws(LinkFailure) -> Int? {
        guard let count = try transfer({ recv(descriptor, buffer.baseAddress, buffer.count, 0) }) else { return nil }
        guard count > 0 else {
            hasEnded = true
            throw .broken("the server closed the connection")
        }
        // An alert is the first and last that a TLS server says to RESP, if it says anything.
        if !hasHeard, count > 1, buffer[0] == 0x15, buffer[1] == 0x03 {
            throw .insecure("the server speaks TLS on this port", remedy: "write rediss:// in redis.url")
        }
        hasHeard = true
        return count
    }

    private func transfer(_ call: () -> Int) throws(LinkFailure) -> Int? {
        while true {
            let count = call()
            if count >= 0 { return count }
            if errno == EAGAIN { return nil }
            if errno != EINTR {
                hasEnded = errno == EPIPE || errno == ECONNRESET
                throw .broken(String(cString: strerror(errno)))
            }
        }
    }

    private func told<Value>(_ body: () throws(TLSError) -> Value) throws(LinkFailure) -> Value {
        do throws(TLSError) {
            return try body()
        } catch {
            hasFailed = true
            throw LinkFailure(error, files)
        }
    }

    /// Puts TLS on the socket: blocks for at most `timeout`, and ends at once when the mailbox closes.
    func encrypt(
        _ files: RedisTLSFiles, within timeout: Duration, _ mailbox: Mailbox
    ) throws(LinkFailure) {
        guard case .tcp(let host, _) = address else { preconditionFailure("TLS is for TCP") }
        self.files = files
        // Until the handshake is complete there is nothing to say good-bye to.
        hasFailed = true
        let deadline = ContinuousClock().now + timeout
        let server = TLSServer(
            host: host, caFile: files.roots, certificateFile: files.certificate, keyFile: files.key)
        let connection = try told { () throws(TLSError) in try TLSConnection(server, descriptor: descriptor) }
        tls = connection
        while true {
            let events: Int
            switch try told({ () throws(TLSError) in try connection.handshake() }) {
            case .done:
                hasFailed = false
                hasBuffered = connection.hasBuffered
                return
            case .wantsRead: events = Int(POLLIN)
            case .wantsWrite: events = Int(POLLOUT)
            }
            guard ContinuousClock().now < deadline else {
                throw .broken(
                    "connected, but no TLS handshake within \(timeout): without TLS on this port, redis.url is redis://"
                )
            }
            _ = try mailbox.wait(for: descriptor, Int16(events), until: deadline)
        }
    }
}
