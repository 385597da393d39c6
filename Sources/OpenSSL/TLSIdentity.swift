internal import COpenSSL

/// The certificate and key of a TLS server (TLS 1.2 or later). Its connections share it, on any thread.
public final class TLSIdentity: Sendable {
    /// Freed in `deinit`. Each connection has its own reference. Guard: only `init` configures it, and OpenSSL locks
    /// the parts that connections change (openssl-threads(7)).
    nonisolated(unsafe) let context: OpaquePointer
    /// The ALPN protocol to choose.
    private let applicationProtocol: [UInt8]
    /// When the certificate expires, epoch seconds. Nil: it does not say so in a form that OpenSSL reads.
    public let expiresAt: Int64?

    /// - Parameters:
    ///   - identity: PEM; further certificates behind the first are the chain that clients get with it
    ///   - applicationProtocol: such as `h2`; a client that does not offer it gets a connection without one
    public init(_ identity: CertificateAuthority.Identity, applicationProtocol: String) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .setup(openSSLMessage()) }
        self.context = context
        self.applicationProtocol = Array(applicationProtocol.utf8)
        expiresAt = Self.expiry(of: identity.certificate)
        // All properties are set, so `deinit` frees the context after an error too.
        guard copenssl_set_least_version(context, TLS1_2_VERSION) == 1 else { throw .setup(openSSLMessage()) }
        // The suites of TLS 1.2 that keep recorded traffic secret, without CBC and SHA-1. TLS 1.3 has only such ones.
        guard SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 else {
            throw .setup(openSSLMessage())
        }
        let certificate = readCertificate(identity.certificate)
        defer { X509_free(certificate) }
        let key = readKey(identity.key)
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw .setup(openSSLMessage()) }
        for issuer in readChain(identity.certificate) {
            defer { X509_free(issuer) }
            guard copenssl_add_chain_certificate(context, issuer) == 1 else { throw .setup(openSSLMessage()) }
        }
        copenssl_set_mode(context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        copenssl_forbid_renegotiation(context)
        // Clients here do not resume sessions. So keep none in memory, and send no tickets.
        copenssl_no_session_cache(context)
        copenssl_no_tickets(context)
        SSL_CTX_set_alpn_select_cb(context, choose, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { SSL_CTX_free(context) }

    /// Seconds until a certificate (PEM) expires, negative if it has; nil: the text holds none.
    public static func secondsLeft(_ certificate: [UInt8]) -> Int? {
        guard let certificate = readCertificate(certificate) else { return nil }
        defer { X509_free(certificate) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1 else { return nil }
        return Int(days) * 86_400 + Int(seconds)
    }

    /// When a certificate (PEM) expires, epoch seconds.
    private static func expiry(of certificate: [UInt8]) -> Int64? {
        guard let certificate = readCertificate(certificate) else { return nil }
        defer { X509_free(certificate) }
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(certificate)) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    /// Finds the protocol in a client's list. Each name there follows its length.
    fileprivate func place(in offered: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        var rest = offered[...]
        while let length = rest.popFirst(), rest.count >= Int(length) {
            let name = rest.prefix(Int(length))
            if name.elementsEqual(applicationProtocol) { return UnsafeBufferPointer(rebasing: name) }
            rest = rest.dropFirst(Int(length))
        }
        return nil
    }
}

/// Runs on the connection's thread, inside its handshake. The connection keeps the identity alive.
private let choose:
    @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
        UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
    ) -> Int32 = { _, name, length, offered, count, identity in
        guard let identity else { return SSL_TLSEXT_ERR_NOACK }
        let offered = UnsafeBufferPointer(start: offered, count: Int(count))
        let found = Unmanaged<TLSIdentity>.fromOpaque(identity).takeUnretainedValue().place(in: offered)
        guard let found else { return SSL_TLSEXT_ERR_NOACK }
        name?.pointee = found.baseAddress
        length?.pointee = UInt8(found.count)
        return SSL_TLSEXT_ERR_OK
    }
