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
