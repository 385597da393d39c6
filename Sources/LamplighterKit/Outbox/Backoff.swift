/// How long the outbox waits after a failure. It never gives up. A decision without clock or I/O.
struct Backoff: Hashable, Sendable {
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
    /// - Returns: seconds.
    mutating func failed(asked: Double?, random: (ClosedRange<Double>) -> Double) -> Double {
        failures += 1
        var longest = 1.0
        for _ in 0..<min(failures, 20) where longest < Self.longest { longest = min(longest * 2, Self.longest) }
        let own = random(longest / 2...longest)
        guard let asked else { return own }
        let least = min(asked, Self.longestAsked)
        return max(own, random(least...least * 1.5))
    }
}
