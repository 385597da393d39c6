/// Everything that APNs knows of one connection.
struct ConnectionFacts: Sendable {
    /// The number among all connections, from 1.
    var number = 0
    /// Requests that were read to their end.
    var requests = 0
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

/// The provider tokens that APNs has seen on one connection or for one key.
struct PresentedTokens: Sendable {
    /// The newest is last, with the time of its first request in milliseconds. The first token is not an update.
    private var seen: [(text: String, at: Int)] = []

    /// False for one update too many. The refused token is not kept, so the one before it stays valid.
    mutating func admit(_ text: String, at now: Int, updates: Int, window: Int) -> Bool {
        if seen.contains(where: { $0.text == text }) { return true }
        let recent = seen.dropFirst().count(where: { now - $0.at < window * 1_000 })
        guard seen.isEmpty || recent < updates else { return false }
        seen.append((text, now))
        if seen.count > updates + 2 { seen.removeFirst() }
        return true
    }
}
