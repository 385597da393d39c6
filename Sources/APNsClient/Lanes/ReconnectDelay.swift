/// How long a lane waits before it makes another connection. "Rapid connect and disconnect looks like an attack"
/// (Apple), so each failure in a row doubles the wait. Pages wait with the lane.
struct ReconnectDelay: Sendable, Hashable {
    static let firstMilliseconds: Int64 = 50
    static let longestMilliseconds: Int64 = 2_000

    /// A connection that brought this many answers was worth making, so the next one does not wait.
    static let provenAnswers = 16
    /// After this many failures in a row, some 1.5 s of trying, waiting pages are given back to their senders.
    static let hopelessFailures = 5

    private(set) var failures = 0
    /// No connection is made before this time, monotonic milliseconds.
    private(set) var notBefore: Int64 = 0

    /// Notes that a connection could not be made, or ended before `provenAnswers`.
    /// - Parameter jitter: 0 to 1, so that the lanes of a fleet do not come back together
    mutating func failed(now: Int64, jitter: Double) {
        let delay = min(Self.longestMilliseconds, Self.firstMilliseconds << Int64(min(failures, 10)))
        failures += 1
        notBefore = now + Int64(Double(delay) * (0.5 + jitter / 2))
    }

    var isHopeless: Bool { failures >= Self.hopelessFailures }

    /// Notes that a connection has brought `provenAnswers`.
    mutating func proved() { failures = 0 }
}
