internal import CHiredis
internal import Glibc
internal import OpenSSL

/// A socket that hiredis has connected, with TLS on it if the URL asks for it. It owns both. It is made, used and freed
/// on the connection's thread.
///
/// hiredis connects and parses, but this class reads and writes. hiredis's own write raises SIGPIPE on a closed
/// connection and copies a pipeline once more, and its read takes only 16 KiB at a time. OpenSSL writes without
/// MSG_NOSIGNAL, but the thread has blocked SIGPIPE, so a closed connection is an error code here too.
final class RedisWire {
    private let context: UnsafeMutablePointer<redisContext>
    private let address: RedisAddress
    private var tls: TLSConnection?
    /// Under TLS a read may have to wait until the socket is writable, and a write until it is readable.
    private var readWants = Int16(POLLIN)
    private var writeWants = Int16(POLLOUT)
    /// OpenSSL holds bytes that may be a whole record. Poll cannot see them, so read before the next wait.
    private(set) var hasBuffered = false
    /// The server has sent something.
    private var hasHeard = false
    /// The server has closed the connection, without TLS.
    private var hasEnded = false
    /// TLS must send nothing more, not even close_notify.
    private var hasFailed = false
    private var files = RedisTLSFiles()

    /// Connects. Blocks for at most `timeout`, without the time of the system's name resolution.
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

    /// Frees TLS first, because it points to the socket.
    deinit {
        if !hasFailed { tls?.close() }
        tls = nil
        redisFree(context)
    }

    var descriptor: Int32 { context.pointee.fd }
    /// The minor version of TLS: 3 for TLS 1.3, 0 without TLS.
    var tlsMinorVersion: Int { tls?.minorVersion ?? 0 }
    /// Whether a TCP server closed a connection without TLS before it sent anything. Servers that expect TLS do so.
    var hasEndedSilently: Bool { if case .tcp = address { hasEnded && !hasHeard } else { false } }

    func events(forWriting: Bool) -> Int16 { forWriting ? readWants | writeWants : readWants }
    /// Whether `read` may find something.
    func isReadable(after events: Int16) -> Bool { hasBuffered || events & ~(Int16(POLLOUT) & ~readWants) != 0 }

    /// Writes as much as the socket takes now. Nil if it takes nothing.
    func write(_ bytes: UnsafeRawBufferPointer) throws(LinkFailure) -> Int? {
        guard let tls else {
            return try transfer { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
        switch try translatingErrors({ () throws(TLSError) in try tls.write(bytes) }) {
        case .done(let count):
            if writeWants == Int16(POLLIN) { hasBuffered = tls.hasBuffered }
            writeWants = Int16(POLLOUT)
            return count
        case .wantsWrite: writeWants = Int16(POLLOUT)
        case .wantsRead: writeWants = Int16(POLLIN)
        }
        return nil
    }

    /// Reads what has arrived, with TLS at most one record. Nil if nothing was there.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkFailure) -> Int? {
        guard let tls else { return try readPlain(into: buffer) }
        switch try translatingErrors({ () throws(TLSError) in try tls.read(into: buffer) }) {
        case .done(let count):
            readWants = Int16(POLLIN)
            hasBuffered = tls.hasBuffered
            hasHeard = true
            return count
        // OpenSSL now holds only the beginning of a record. The socket becomes readable when the rest arrives.
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
        // The only bytes that a TLS server may send to RESP are an alert.
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

    private func translatingErrors<Value>(_ body: () throws(TLSError) -> Value) throws(LinkFailure) -> Value {
        do throws(TLSError) { return try body() } catch {
            hasFailed = true
            throw LinkFailure(error, files)
        }
    }

    /// Starts TLS on the socket. Blocks for at most `timeout`, and ends at once when the mailbox closes.
    func encrypt(_ files: RedisTLSFiles, within timeout: Duration, _ mailbox: Mailbox) throws(LinkFailure) {
        guard case .tcp(let host, _) = address else { preconditionFailure("TLS is for TCP") }
        self.files = files
        // Before the handshake is complete, close_notify must not be sent.
        hasFailed = true
        let deadline = ContinuousClock().now + timeout
        var server = TLSServer(host: host, caFile: files.roots, certificateFile: files.certificate, keyFile: files.key)
        server.trust = files.verification
        let connection = try translatingErrors { () throws(TLSError) in
            try TLSConnection(server, descriptor: descriptor)
        }
        tls = connection
        while true {
            let events: Int
            switch try translatingErrors({ () throws(TLSError) in try connection.handshake() }) {
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
