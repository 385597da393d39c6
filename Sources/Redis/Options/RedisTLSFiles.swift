internal import OpenSSL

/// The PEM files for TLS. Each new connection reads them, so a replaced file takes effect with the next one.
public struct RedisTLSFiles: Sendable, Hashable {
    /// The roots that must have signed the server's certificate. Nil means the system's roots.
    public var roots: String?
    /// The client's certificate and its key, for servers that ask for one. Set both or neither.
    public var certificate: String?
    public var key: String?

    public init(roots: String? = nil, certificate: String? = nil, key: String? = nil) {
        (self.roots, self.certificate, self.key) = (roots, certificate, key)
    }
}

extension LinkFailure {
    /// Adds a remedy to a TLS error. An error that a new connection may not meet again becomes a broken link.
    init(_ error: TLSError, _ files: RedisTLSFiles) {
        let remedy: String
        switch error {
        case .lost(let message):
            self = .broken(message)
            return
        case .setup: remedy = "check redis.ca_file, redis.cert_file and redis.key_file"
        case .certificate(.unknownIssuer, _):
            remedy =
                files.roots.map { "no certificate in \($0) has signed it: redis.ca_file must hold the server's CA" }
                ?? "redis.ca_file names the PEM file of the CA that has signed it, unless the system knows it"
        case .certificate(.expired, _):
            remedy = "give the server a certificate that is valid now, and check the machines' clocks"
        case .certificate(.wrongHost, _):
            remedy = "name the server in redis.url as its certificate does, or give it one for this name or address"
        case .certificate(.other, _): remedy = "give the server another certificate"
        case .clientCertificate:
            remedy =
                files.certificate.map { "\($0) must be valid, and signed by a CA that the server knows" }
                ?? "set redis.cert_file and redis.key_file"
        case .notTLS: remedy = "without TLS on this port, redis.url is redis://"
        case .handshake:
            remedy =
                "the server must speak TLS 1.2 or later; if it asks for a client certificate, set redis.cert_file and redis.key_file"
        }
        self = .insecure(error.description, remedy: remedy)
    }
}
