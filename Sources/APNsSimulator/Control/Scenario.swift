/// Faults that change during a run. JSON: `{"phases":[{"after_requests":N | "after_seconds":S, "faults":{…}}, …]}`.
public struct Scenario: Sendable, Hashable, Encodable {
    public var phases: [Phase]

    /// A phase begins when both conditions hold and the previous phase has begun. It replaces all faults.
    public struct Phase: Sendable, Hashable, Encodable {
        /// Requests since the start or the last reset, on all connections.
        public var afterRequests: Int?
        /// Seconds since the start or the last reset.
        public var afterSeconds: Double?
        public var faults: Faults
    }
}
