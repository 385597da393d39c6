internal import COpenSSL

/// The certificate and key that a TLS server shows every client, TLS 1.2 or later. Shared by all its connections, on any thread.
public final class TLSIdentity: Sendable {
    /// Freed in `deinit`; each connection holds a reference of its own. Guard: configured in `init` only, and OpenSSL locks what
    /// connections change in it (openssl-threads(7)).
    nonisolated(unsafe) let context: OpaquePointer
    /// ALPN that is chosen where a client offers it.
    private let applicationProtocol: [UInt8]

    /// `applicationProtocol`: such as `h2`. A client that does not offer it is connected without one.
    public init(_ identity: CertificateAuthority.Identity, applicationProtocol: String) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw .setup(openSSLWords()) }
        self.context = context
        self.applicationProtocol = Array(applicationProtocol.utf8)
        // From here on `deinit` frees the context, also after an error.
        guard copenssl_set_least_version(context, TLS1_2_VERSION) == 1 else { throw .setup(openSSLWords()) }
        let certificate = readCertificate(identity.certificate)
        defer { X509_free(certificate) }
        let key = readKey(identity.key)
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw .setup(openSSLWords()) }
        copenssl_set_mode(context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        copenssl_forbid_renegotiation(context)
        // Nobody resumes a session: no memory for them, and no tickets on the wire.
        copenssl_no_session_cache(context)
        copenssl_no_tickets(context)
        SSL_CTX_set_alpn_select_cb(context, choose, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { SSL_CTX_free(context) }

    /// Where the protocol lies in a client's list of names, each behind its length.
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

/// On the connection's thread, inside its handshake. `TLSSession` keeps the identity alive for as long.
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
