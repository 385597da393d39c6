/// The outcome of one request.
public enum PushOutcome: Sendable, Hashable {
    /// APNs answered 200.
    case accepted
    case rejected(Rejection)
    /// APNs did not answer.
    case unanswered(NoAnswer)
}

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

/// Why there is no answer, and whether APNs may have acted on the request anyway.
public struct NoAnswer: Sendable, Hashable {
    public enum Cause: String, Sendable, Hashable {
        case timeout = "Timeout"
        case connectionFailed = "ConnectionFailed"
        case connectionLost = "ConnectionLost"
        case tls = "TLSFailure"
        case cancelled = "Cancelled"
    }
    public var cause: Cause
    /// True once the request may have left this machine and was not declared unprocessed by a GOAWAY.
    public var mayHaveBeenDelivered: Bool

    public init(_ cause: Cause, mayHaveBeenDelivered: Bool) {
        self.cause = cause
        self.mayHaveBeenDelivered = mayHaveBeenDelivered
    }
}
