/// Everything that APNs knows of one connection.
struct ConnectionFacts: Sendable {
    /// The number among all connections, from 1.
    var number = 0
    /// Requests that were read to their end.
    var requests = 0
    /// The highest stream whose request was checked.
    var lastProcessed: UInt32 = 0
    /// Whether a request with a valid provider token has come.
    var isAuthenticated = false
    /// The client's port.
    var port: UInt16 = 0
    /// The index in `keys` of the first valid token.
    var key: Int?
    var presented = PresentedTokens()
    /// Provider token and topic of the last good request. The next request nearly always has the same ones.
    var lastToken: ProviderTokenCheck.Token?
    var lastAuthorization: String?
    var lastTopic: String?
}
