public enum Settled: Sendable {
    /// Another worker has the lease. Nothing was written. Begin nothing more.
    case stale
    case gone
    case ok(state: PushState, isFinished: Bool, Leftovers)
}
