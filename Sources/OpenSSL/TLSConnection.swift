internal import COpenSSL
internal import Glibc

/// How far a call got without blocking.
public enum TLSProgress: Sendable, Hashable {
    /// Bytes that were read or written; 0 for a complete handshake.
    case done(Int)
    /// Call again when the socket is readable.
    case wantsRead
    /// Call again when the socket is writable, with the same bytes or more.
    case wantsWrite
}

/// One end of a TLS connection over a socket that does not block, with TLS 1.2 or later. A client checks the
/// certificate and the host's name, unless `TLSServer.trust` says otherwise. The connection belongs to one thread. The
/// caller owns the socket, and closes it after this object is gone. `TLSSession` uses it for both ends, with memory
/// instead of a socket.
public final class TLSConnection {
    private let context: OpaquePointer
    let ssl: OpaquePointer
    /// The server's certificate and key. Nil at the client's end. The ALPN callback uses them, so each connection keeps
    /// them alive.
    private let identity: TLSIdentity?
    /// The allowed digests of the server's certificate. Nil: any digest.
    private var pins: [[UInt8]]?
    /// The host names in a certificate that was refused.
    fileprivate var refusedNames: String?
    /// The SHA-256 of the server's certificate, if that was refused.
    fileprivate var refusedDigest: String?

    /// The client's end over a socket. It reads all files again, so a replaced file counts from the next connection on.
    public convenience init(_ server: TLSServer, descriptor: Int32) throws(TLSError) {
        try self.init(server)
        guard SSL_set_fd(ssl, descriptor) == 1 else { throw .setup(openSSLMessage()) }
    }

    /// The client's end, without a socket yet.
    init(_ server: TLSServer) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .setup(openSSLMessage()) }
        var connection: OpaquePointer?
        do throws(TLSError) {
            try server.configure(context)
            connection = SSL_new(context)
            guard let connection else { throw TLSError.setup(openSSLMessage()) }
            try server.expectHost(connection)
            SSL_set_connect_state(connection)
            self.context = context
            ssl = connection
            identity = nil
            if case .pinned(let digests) = server.trust { pins = digests }
            // For `noteCertificate`, which OpenSSL calls only while this object is in `handshake`.
            SSL_set_ex_data(connection, 0, Unmanaged.passUnretained(self).toOpaque())
        } catch {
            SSL_free(connection)
            SSL_CTX_free(context)
            throw error
        }
    }

    /// The server's end, without a socket yet.
    init(_ identity: TLSIdentity) throws(TLSError) {
        guard let connection = SSL_new(identity.context) else { throw .setup(openSSLMessage()) }
        SSL_CTX_up_ref(identity.context)
        context = identity.context
        ssl = connection
        self.identity = identity
        SSL_set_accept_state(connection)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// Continues the handshake. `.done`: it is complete, and the peer's certificate is good.
    public func handshake() throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        let progress = try progress(SSL_do_handshake(ssl), 0)
        if progress == .done(0), let pins {
            let digest = SSL_get0_peer_certificate(ssl).flatMap(certificateDigest)
            guard let digest, pins.contains(digest) else {
                let found = digest.map { ", it is sha256:\(hex($0))" } ?? ""
                throw .certificate(.notPinned, "its SHA-256 is not the expected one\(found)")
            }
        }
        return progress
    }

    /// The protocol that ALPN chose; nil if the server chose none.
    public var applicationProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &count)
        return bytes.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
    }

    /// 2 for TLS 1.2, 3 for TLS 1.3, once the handshake is complete.
    public var minorVersion: Int { Int(SSL_version(ssl)) - 0x0301 }

    /// OpenSSL holds unread bytes that it took from the socket, which the socket does not show as readable.
    public var hasBuffered: Bool { SSL_has_pending(ssl) == 1 }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        var count = 0
        return try progress(SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count), count)
    }

    /// Writes a record or more. Bytes that were not written must be passed again, at the same address or another.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) -> TLSProgress {
        ERR_clear_error()
        var count = 0
        return try progress(SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count), count)
    }

    /// Sends close_notify, if the socket accepts it now. Do not call it after an error.
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
        case SSL_ERROR_ZERO_RETURN: throw .lost(closed)
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            throw .lost(systemError == 0 ? closed : String(cString: strerror(systemError)))
        default: throw failure()
        }
    }

    private var closed: String { "the \(identity == nil ? "server" : "client") closed the connection" }

    private func failure() -> TLSError {
        let code = ERR_peek_error()
        let reason = copenssl_tls_reason(code)
        let all = openSSLMessage()
        let message = ERR_reason_error_string(code).map { String(cString: $0) } ?? all
        if reason == SSL_R_UNEXPECTED_EOF_WHILE_READING { return .lost(closed + " without a close_notify") }
        // Only a client checks a certificate here.
        guard identity == nil else { return .handshake(message) }
        let verdict = SSL_get_verify_result(ssl)
        guard verdict == Int(X509_V_OK) else {
            let fault = CertificateFault(verdict: Int32(verdict))
            let message = String(cString: X509_verify_cert_error_string(verdict))
            switch fault {
            case .wrongHost:
                return .certificate(fault, message + (refusedNames.map { ", it is for \($0)" } ?? ""))
            case .unknownIssuer:
                return .certificate(fault, message + (refusedDigest.map { ", it is sha256:\($0)" } ?? ""))
            default: return .certificate(fault, message)
            }
        }
        switch reason {
        case SSL_R_WRONG_VERSION_NUMBER: return .notTLS
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_TLSV1_ALERT_ACCESS_DENIED,
            SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
            return .clientCertificate(message)
        default: return .handshake(message)
        }
    }
}

/// Notes the names of a refused certificate and keeps OpenSSL's verdict, on the connection's thread in a handshake.
let noteCertificate: @convention(c) (Int32, OpaquePointer?) -> Int32 = { isGood, store in
    guard isGood == 0, let store, let certificate = X509_STORE_CTX_get_current_cert(store),
        let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
        let connection = SSL_get_ex_data(OpaquePointer(ssl), 0)
    else { return isGood }
    let refused = Unmanaged<TLSConnection>.fromOpaque(connection).takeUnretainedValue()
    refused.refusedNames = alternativeNames(certificate)
    refused.refusedDigest = X509_STORE_CTX_get0_cert(store).flatMap(certificateDigest).map(hex)
    return isGood
}

/// The SHA-256 of a certificate in DER.
private func certificateDigest(_ certificate: OpaquePointer) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: 32)
    return X509_digest(certificate, EVP_sha256(), &digest, nil) == 1 ? digest : nil
}

private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The names as OpenSSL prints them: `DNS:redis.example.com, IP Address:10.0.0.5`. The text comes from a peer that is
/// not trusted, so it is shortened and limited to printable characters.
private func alternativeNames(_ certificate: OpaquePointer) -> String? {
    let place = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)
    guard place >= 0, let names = X509_get_ext(certificate, place),
        let bytes = written({ X509V3_EXT_print($0, names, 0, 0) == 1 }), !bytes.isEmpty
    else { return nil }
    let text = bytes.prefix(200).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }
    return String(decoding: text, as: UTF8.self) + (bytes.count > 200 ? " …" : "")
}
