/// The outcome of one request.
public struct BroadcastSettlement: Sendable, Hashable {
    public enum Outcome: Sendable, Hashable {
        case delivered, failed, expired
        /// Another attempt after this time.
        case again(after: Duration)
    }

    public var outcome: Outcome
    /// APNs's status; nil = no answer.
    public var status: Int?
    public var reason: String?
    /// APNs may have carried out the request although no answer came.
    public var mayRepeat: Bool

    public init(_ outcome: Outcome, status: Int? = nil, reason: String? = nil, mayRepeat: Bool = false) {
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.mayRepeat = mayRepeat
    }

    public var event: BroadcastEvent {
        switch outcome {
        case .delivered: .delivered
        case .failed: .failed
        case .expired: .expired
        case .again: .retried
        }
    }
}

/// How a broadcast left its queue, or that it is tried again. Metrics count these.
public enum BroadcastEvent: String, Sendable, Hashable, CaseIterable {
    case delivered, failed, expired, superseded, cancelled, retried
}
