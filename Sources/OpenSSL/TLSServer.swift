internal import COpenSSL
internal import Glibc

/// The server of a TLS client: how the client checks it, and the client's own certificate.
public struct TLSServer: Sendable, Hashable {
    /// A name or an address without brackets, for which the certificate must be valid. A name is sent to the server.
    public var host: String
    /// How the client decides whether it talks to the right server.
    public enum Trust: Sendable, Hashable {
        /// A root certificate leads to the server's, which is for `host`.
        case roots
        /// The SHA-256 of the server's certificate (DER) must be in the list. The handshake proves that it has the key.
        case pinned([[UInt8]])
        /// Every server is trusted. Only a passive listener is kept out.
        case anything
    }

    public var trust = Trust.roots
    /// PEM file of the root certificates. Nil: the system's, at OpenSSL's built-in path, whatever the environment says.
    public var caFile: String?
    /// PEM file of the client's own certificate and its chain, for a server that asks for one. It needs `keyFile`.
    public var certificateFile: String?
    /// PEM file of that certificate's private key, not encrypted.
    public var keyFile: String?
    /// The protocol for ALPN, such as `h2`, 1 to 255 bytes. Nil: the client offers none.
    public var applicationProtocol: String?

    public init(
        host: String, caFile: String?, certificateFile: String? = nil, keyFile: String? = nil,
        applicationProtocol: String? = nil
    ) {
        self.host = host
        self.caFile = caFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.applicationProtocol = applicationProtocol
    }

    /// Bytes taken from the socket in one system call. They hold many records, but OpenSSL's own 16 KiB would hold one.
    private static let readAhead = 256 << 10

    func configure(_ context: OpaquePointer) throws(TLSError) {
        guard copenssl_set_least_version(context, TLS1_2_VERSION) == 1 else { throw .setup(openSSLMessage()) }
        switch trust {
        case .roots:
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, noteCertificate)
            try loadRoots(context)
        case .pinned, .anything: SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        }
        try loadIdentity(context)
        if let applicationProtocol {
            let protocols = [UInt8(applicationProtocol.utf8.count)] + Array(applicationProtocol.utf8)
            // Unlike the other functions, this one returns 0 on success.
            guard SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0 else {
                throw .setup(openSSLMessage())
            }
        }
        // The waiting bytes move when more are added, and they may be written in part.
        copenssl_set_mode(context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        copenssl_set_read_ahead(context)
        SSL_CTX_set_default_read_buffer_len(context, Self.readAhead)
        copenssl_no_session_cache(context)
    }

    private func loadRoots(_ context: OpaquePointer) throws(TLSError) {
        if let caFile {
            try Self.requireReadable(caFile)
            guard SSL_CTX_load_verify_file(context, caFile) == 1 else {
                throw Self.unusable(caFile, "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
            }
            return
        }
        // SSL_CTX_set_default_verify_paths is not used, because it reads SSL_CERT_FILE and SSL_CERT_DIR.
        let hasDirectory = SSL_CTX_load_verify_dir(context, X509_get_default_cert_dir()) == 1
        let hasFile = SSL_CTX_load_verify_file(context, X509_get_default_cert_file()) == 1
        guard hasDirectory || hasFile else { throw .setup(openSSLMessage()) }
        ERR_clear_error()
    }

    /// Loads the key first. A certificate that does not match it removes it, and the last check reports that.
    private func loadIdentity(_ context: OpaquePointer) throws(TLSError) {
        guard let certificateFile, let keyFile else { return }
        try Self.requireReadable(certificateFile)
        try Self.requireReadable(keyFile)
        SSL_CTX_set_default_passwd_cb(context, noPassword)
        guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw Self.unusable(keyFile, "it holds no private key in PEM that is free of a passphrase")
        }
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw Self.unusable(certificateFile, "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        }
        guard SSL_CTX_check_private_key(context) == 1 else {
            throw Self.unusable(keyFile, "it is not the key of the certificate in \(certificateFile)")
        }
    }

    private static func requireReadable(_ path: String) throws(TLSError) {
        guard access(path, R_OK) == 0 else { throw .setup("\(path): \(String(cString: strerror(errno)))") }
    }

    private static func unusable(_ path: String, _ why: String) -> TLSError {
        ERR_clear_error()
        return .setup("\(path): \(why)")
    }

    /// Sets the host that the certificate must be valid for.
    func expectHost(_ ssl: OpaquePointer) throws(TLSError) {
        guard let rules = SSL_get0_param(ssl) else { throw .setup(openSSLMessage()) }
        // OpenSSL would accept the common name if a certificate names no host, but a common name is no host name.
        X509_VERIFY_PARAM_set_hostflags(
            rules, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        if X509_VERIFY_PARAM_set1_ip_asc(rules, host) == 1 { return }
        ERR_clear_error()
        guard X509_VERIFY_PARAM_set1_host(rules, host, host.utf8.count) == 1,
            copenssl_set_server_name(ssl, host) == 1
        else { throw .setup(openSSLMessage()) }
    }
}
