/// How long a lane waits before it makes another connection. "Rapid connect and disconnect looks like an attack" (Apple),
/// so failures in a row wait longer and longer; pages wait with them.
struct ReconnectDelay: Sendable, Hashable {
    static let firstMilliseconds: Int64 = 50
    static let longestMilliseconds: Int64 = 2_000

    /// A connection that brought as many was worth making: its successor does not wait.
    static let provenAnswers = 16
    /// So many in a row, and what waits is given back: some 1.5 s of trying.
    static let hopelessFailures = 5

    private(set) var failures = 0
    /// No connection is made before: monotonic milliseconds.
    private(set) var notBefore: Int64 = 0

    /// A connection could not be made, or ended before `provenAnswers`. `jitter`: 0 to 1, so that the lanes of a fleet
    /// do not come back together.
    mutating func failed(now: Int64, jitter: Double) {
        let delay = min(Self.longestMilliseconds, Self.firstMilliseconds << Int64(min(failures, 10)))
        failures += 1
        notBefore = now + Int64(Double(delay) * (0.5 + jitter / 2))
    }

    var isHopeless: Bool { failures >= Self.hopelessFailures }

    /// A connection has brought `provenAnswers`.
    mutating func proved() { failures = 0 }
}
