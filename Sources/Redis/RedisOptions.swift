public struct RedisOptions: Sendable {
    /// The longest time for each of: the connection, TLS, and the greeting (AUTH, SELECT, scripts).
    public var connectTimeout: Duration = .seconds(5)
    /// The longest time until the server's next whole reply. A pipeline may take longer while replies keep coming.
    public var commandTimeout: Duration = .seconds(5)
    /// The name that CLIENT LIST shows: letters, digits and `-`.
    public var clientName = "lamplighter"
    /// The files for URLs that ask for TLS.
    public var tls = RedisTLSFiles()

    public init() {}
}

/// Limits that no reply to this program comes near. A larger reply means a broken peer, so its connection is closed.
struct ReplyLimits: Sendable {
    /// The bytes of one string. The reader holds a whole string before it passes it on.
    var stringBytes = 64 << 20
    /// The elements of one array. Memory for them is reserved when the array's header is read.
    var arrayElements = 1 << 20
    /// The nodes and bytes of all replies of one batch.
    var batchNodes = 1 << 23
    var batchBytes = 512 << 20
}
