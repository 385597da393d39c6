public enum PushOutcome: Sendable, Hashable {
    /// The platform answered 200.
    case accepted
    case rejected(Rejection)
    /// The platform did not answer.
    case unanswered(NoAnswer)
}

/// An answer other than 200.
public struct Rejection: Sendable, Hashable {
    public var status: Int
    /// The platform's word for the reason. The ledger's `errors` count it.
    public var reason: String
    public var verdict: Verdict
    /// The token may live in the platform's other environment.
    public var mayLiveElsewhere: Bool
    /// Since when a dead token is dead, epoch milliseconds.
    public var timestamp: Int64?
    /// Seconds, if the platform gave them.
    public var retryAfter: Int?
    /// False: no request was made, because the platform gave this answer to another one.
    public var wasSent = true

    public init(
        status: Int, reason: String, verdict: Verdict, mayLiveElsewhere: Bool = false, timestamp: Int64? = nil,
        retryAfter: Int? = nil
    ) {
        (self.status, self.reason, self.verdict) = (status, reason, verdict)
        (self.mayLiveElsewhere, self.timestamp, self.retryAfter) = (mayLiveElsewhere, timestamp, retryAfter)
    }

    /// The outcome of a token that nothing is sent to because of this answer to another request.
    package var unsent: PushOutcome {
        var rejection = self
        rejection.wasSent = false
        return .rejected(rejection)
    }
}

/// Why there is no answer, and whether the platform may have acted on the request anyway.
public struct NoAnswer: Sendable, Hashable {
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        case timeout = "Timeout"
        case connectionFailed = "ConnectionFailed"
        case connectionLost = "ConnectionLost"
        case tls = "TLSFailure"
        /// The platform took no more bytes of the body: its flow-control window stayed closed until the deadline.
        case windowClosed = "WindowClosed"
        case cancelled = "Cancelled"
        /// The platform's pace has no turn soon, and the page may not wait for one. Nothing has left this machine.
        case paced = "Paced"
    }
    public var cause: Cause
    /// True once the request may have left this machine and was not declared unprocessed by a GOAWAY.
    public var mayHaveBeenDelivered: Bool

    public init(_ cause: Cause, mayHaveBeenDelivered: Bool) {
        self.cause = cause
        self.mayHaveBeenDelivered = mayHaveBeenDelivered
    }
}

/// The sender's reaction to an answer other than 200: a lane's within a page, `PageReport`'s after it.
public enum Verdict: Sendable, Hashable {
    /// The token is dead in this environment (400). Prune it if the channel still has this very token.
    case pruneToken
    /// The token is dead since the answer's timestamp (410). Prune it if it also was registered before that.
    case pruneIfOlder
    /// The platform refuses this request, and blames neither the token nor the push. Give the token up.
    case failToken
    /// Try this token later, with backoff.
    case retry
    /// Try this token later on another connection, because this one is closing or belongs to other credentials.
    case retryOnFreshConnection
    /// Make a new credential once and repeat.
    case renewCredential
    /// The platform counts credentials, and the newest is one too many. Repeat with the one before, or try this token
    /// later.
    case useEarlierCredential
    /// The platform takes no requests of this app for a while. Try this token and the page's unsent ones later.
    case pauseApp
    /// Our credentials are wrong. Halt this app's sends, keep the work, raise an alarm.
    case haltApp
    /// This payload or configuration is wrong for every token. Stop the push early and say why.
    case stopPush
    /// The target that many devices share is gone, such as a broadcast channel. Make another one and send to that.
    case recreateTarget
}
