/// An answer other than 200.
public struct Rejection: Sendable, Hashable {
    public var status: Int
    public var reason: RejectionReason
    /// That of a 410, epoch milliseconds: since when the token is dead.
    public var timestamp: Int64?
    /// Seconds, if APNs gave them.
    public var retryAfter: Int?

    public init(status: Int, reason: RejectionReason, timestamp: Int64? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    public var verdict: Verdict { reason.verdict(status: status) }
}
