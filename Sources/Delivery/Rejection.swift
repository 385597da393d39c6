/// An answer other than 200.
public struct Rejection: Sendable, Hashable {
    public var status: Int
    /// As the platform wrote it; the ledger's `errors` count it.
    public var reason: String
    public var verdict: Verdict
    /// The token may live in the platform's other environment.
    public var mayLiveElsewhere: Bool
    /// Since when a dead token is dead, epoch milliseconds.
    public var timestamp: Int64?
    /// Seconds, if the platform gave them.
    public var retryAfter: Int?

    public init(
        status: Int, reason: String, verdict: Verdict, mayLiveElsewhere: Bool = false, timestamp: Int64? = nil,
        retryAfter: Int? = nil
    ) {
        (self.status, self.reason, self.verdict) = (status, reason, verdict)
        (self.mayLiveElsewhere, self.timestamp, self.retryAfter) = (mayLiveElsewhere, timestamp, retryAfter)
    }
}
