public struct RedisOptions: Sendable {
    /// The longest time for each of: the connection, TLS, and the greeting (AUTH, SELECT, scripts).
    public var connectTimeout: Duration = .seconds(5)
    /// The longest time until the server's next whole reply. A pipeline may take longer while replies keep coming.
    public var commandTimeout: Duration = .seconds(5)
    /// The name that CLIENT LIST shows: letters, digits and `-`.
    public var clientName = "lamplighter"
    /// The files for URLs that ask for TLS.
    public var tls = RedisTLSFiles()

    /// Whether a single server must be a primary, also for reads. Sentinels and a cluster name primaries anyway.
    public var needsPrimary = false

    public init() {}
}

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
