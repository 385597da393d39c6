public struct RedisOptions: Sendable {
    /// For the connection, for TLS, and for the greeting (AUTH, SELECT, scripts): each may take as long.
    public var connectTimeout: Duration = .seconds(5)
    /// How long the server may take for the next whole reply. A pipeline may take longer as long as replies keep coming.
    public var commandTimeout: Duration = .seconds(5)
    /// Shown by CLIENT LIST; letters, digits and `-`.
    public var clientName = "lamplighter"
    /// For URLs that ask for TLS.
    public var tls = RedisTLSFiles()

    public init() {}
}

/// Sizes that no reply of this program comes near. A larger one means a broken peer, and its connection is closed.
struct ReplyLimits: Sendable {
    /// One string, in bytes. The reader holds a string whole before it hands it over.
    var stringBytes = 64 << 20
    /// Elements of one array; their places are reserved when its header is read.
    var arrayElements = 1 << 20
    /// All replies of one batch.
    var batchNodes = 1 << 23
    var batchBytes = 512 << 20
}
