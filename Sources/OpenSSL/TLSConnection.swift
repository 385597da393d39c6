internal import COpenSSL
internal import Glibc

/// What a TLS client wants of its server.
public struct TLSServer: Sendable, Hashable {
    /// A name or an address (without brackets): the certificate must be good for it; a name is also told to the server.
    public var host: String
    /// PEM of the roots; nil = the system's, at OpenSSL's built-in place, whatever the environment says.
    public var caFile: String?
    /// ALPN, such as `h2`: 1 to 255 bytes.
    public var applicationProtocol: String

    public init(host: String, caFile: String?, applicationProtocol: String) {
        self.host = host
        self.caFile = caFile
        self.applicationProtocol = applicationProtocol
    }
}

/// How far a call came without blocking.
public enum TLSProgress: Sendable, Hashable {
    /// Bytes read or written; 0 for a handshake that is complete.
    case done(Int)
    /// Again when the socket is readable.
    case wantsRead
    /// Again when the socket is writable, with the same bytes or more.
    case wantsWrite
}

/// The client's end of one TLS connection over a socket that does not block: TLS 1.2 or later, the certificate and the
/// host's name always checked. Belongs to one thread. The socket is the caller's, who closes it after this object is gone.
public final class TLSConnection {
    /// Bytes taken from the socket in one system call: many records, where OpenSSL's own 16 KiB would be one.
    private static let readAhead = 256 << 10

    private let context: OpaquePointer
    private let ssl: OpaquePointer

    /// The roots are read anew for each connection: a file that was replaced counts from then on.
    public init(_ server: TLSServer, descriptor: Int32) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .setup(openSSLWords()) }
        var connection: OpaquePointer?
        do throws(TLSError) {
            try Self.configure(context, server)
            connection = SSL_new(context)
            guard let connection, SSL_set_fd(connection, descriptor) == 1 else { throw TLSError.setup(openSSLWords()) }
            try Self.expect(connection, server.host)
            SSL_set_connect_state(connection)
            self.context = context
            ssl = connection
        } catch {
            SSL_free(connection)
            SSL_CTX_free(context)
            throw error
        }
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    private static func configure(_ context: OpaquePointer, _ server: TLSServer) throws(TLSError) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        let protocols = [UInt8(server.applicationProtocol.utf8.count)] + Array(server.applicationProtocol.utf8)
        guard copenssl_set_least_version(context, TLS1_2_VERSION) == 1, try loadRoots(context, server.caFile),
            // Unlike its neighbours it returns 0 when all is well.
            SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
        else { throw .setup(openSSLWords()) }
        // The bytes that wait to be written move when more are added, and may be written in part.
        copenssl_set_mode(context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        copenssl_set_read_ahead(context)
        SSL_CTX_set_default_read_buffer_len(context, readAhead)
        copenssl_no_session_cache(context)
    }

    private static func loadRoots(_ context: OpaquePointer, _ caFile: String?) throws(TLSError) -> Bool {
        if let caFile { return SSL_CTX_load_verify_file(context, caFile) == 1 }
        // Not SSL_CTX_set_default_verify_paths, which reads SSL_CERT_FILE and SSL_CERT_DIR.
        let hasDirectory = SSL_CTX_load_verify_dir(context, X509_get_default_cert_dir()) == 1
        let hasFile = SSL_CTX_load_verify_file(context, X509_get_default_cert_file()) == 1
        ERR_clear_error()
        return hasDirectory || hasFile
    }

    /// Whom the certificate must be for.
    private static func expect(_ ssl: OpaquePointer, _ host: String) throws(TLSError) {
        guard let rules = SSL_get0_param(ssl) else { throw .setup(openSSLWords()) }
        X509_VERIFY_PARAM_set_hostflags(rules, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        if X509_VERIFY_PARAM_set1_ip_asc(rules, host) == 1 { return }
        ERR_clear_error()
        guard X509_VERIFY_PARAM_set1_host(rules, host, host.utf8.count) == 1,
            copenssl_set_server_name(ssl, host) == 1
        else { throw .setup(openSSLWords()) }
    }

    /// Goes on with the handshake; `.done` when it is complete, and the peer's certificate found good.
    public func handshake() throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        return try progress(SSL_do_handshake(ssl), 0)
    }

    /// What ALPN settled on; nil = the server chose nothing.
    public var applicationProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &count)
        return bytes.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
    }

    /// OpenSSL holds bytes that were taken from the socket and not been read: they do not show on the socket.
    public var hasBuffered: Bool { SSL_has_pending(ssl) == 1 }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        var count = 0
        return try progress(SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count), count)
    }

    /// Writes a record's worth or more; what was not written comes again, at its place or another.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        var count = 0
        return try progress(SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count), count)
    }

    /// Says close_notify, if the socket takes it now. Not after an error.
    public func close() {
        ERR_clear_error()
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func progress(_ result: Int32, _ count: Int) throws(TLSError) -> TLSProgress {
        guard result != 1 else { return .done(count) }
        let systemError = errno
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: throw .lost("closed by the server")
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            throw .lost(systemError == 0 ? "closed by the server" : String(cString: strerror(systemError)))
        default: throw failure()
        }
    }

    private func failure() -> TLSError {
        let isEnd = copenssl_is_unexpected_end(ERR_peek_error()) != 0
        let words = openSSLWords()
        if isEnd { return .lost("closed by the server without a word") }
        let verdict = SSL_get_verify_result(ssl)
        guard verdict == Int(X509_V_OK) else {
            return .certificate(String(cString: X509_verify_cert_error_string(verdict)))
        }
        return .handshake(words)
    }
}
