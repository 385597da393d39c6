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
