/// The answer of a script that also prolongs the lease.
public protocol LeaseAnswer: Sendable {
    /// False if another worker has the lease, or if its push is gone.
    var keepsLease: Bool { get }
    /// True if the caller's work under the lease is finished, so that nobody has it any more.
    var endsLease: Bool { get }
}

public enum Settled: LeaseAnswer {
    /// Another worker has the lease. Nothing was written. Begin nothing more.
    case stale
    case gone
    case ok(state: PushState, isFinished: Bool, Leftovers)
    public var keepsLease: Bool { if case .ok = self { true } else { false } }
    public var endsLease: Bool { if case .ok(_, isFinished: true, _) = self { true } else { false } }
}
