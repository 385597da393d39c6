/// How long the outbox waits after a failure. It never gives up. A decision without clock or I/O.
struct Backoff: Hashable, Sendable {
    /// Seconds.
    struct Pause: Hashable, Sendable {
        var length: Double
        /// The part that the gateway asked for, which nothing shortens.
        var asked: Double
    }

    /// Seconds.
    static let longest = 300.0
    /// A gateway may ask for longer, up to this many seconds.
    static let longestAsked = 3_600.0
    private(set) var failures = 0

    mutating func succeeded() { failures = 0 }

    /// Counts a failure.
    ///
    /// - Parameters:
    ///   - asked: the seconds of `Retry-After`.
    ///   - random: a number in a range. A gateway that comes back must not meet a million phones in one second.
    mutating func failed(asked: Double?, random: (ClosedRange<Double>) -> Double) -> Pause {
        failures += 1
        var longest = 1.0
        for _ in 0..<min(failures, 20) where longest < Self.longest { longest = min(longest * 2, Self.longest) }
        let own = random(longest / 2...longest)
        let least = min(asked ?? 0, Self.longestAsked)
        let spread = random(least...least * 1.5)
        return Pause(length: max(own, spread), asked: spread)
    }
}
