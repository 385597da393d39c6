/// The answer of a script that also prolongs the lease.
public protocol LeaseAnswer: Sendable {
    /// False if another worker has the lease, or if its push is gone.
    var keepsLease: Bool { get }
}

public enum Settled: LeaseAnswer {
    /// Another worker has the lease. Nothing was written. Begin nothing more.
    case stale
    case gone
    case ok(state: PushState, isFinished: Bool, Leftovers)
    public var keepsLease: Bool { if case .ok = self { true } else { false } }
}
