/// The pauses between attempts that fail. Each failure in a row doubles the longest pause, from `first` up to `cap`.
/// Callers multiply it with a random fraction, so that many of them do not come back together.
/// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
public struct Backoff: Sendable, Hashable {
    public var first: Duration
    public var cap: Duration

    public init(first: Duration, cap: Duration) { (self.first, self.cap) = (first, cap) }

    /// The longest pause before the next attempt.
    /// - Parameter failures: failures in a row, at least 1
    public func pause(after failures: Int) -> Duration { min(cap, first * (1 << min(max(failures, 1) - 1, 20))) }
}

/// When a connection may be made again. "Rapid connect and disconnect looks like an attack" (Apple), so each failure in
/// a row doubles the wait. Times are monotonic milliseconds.
public struct ReconnectDelay: Sendable, Hashable {
    private static let backoff = Backoff(first: .milliseconds(50), cap: .seconds(2))
    public private(set) var failures = 0
    /// No connection is made before this time.
    public private(set) var notBefore: Int64 = 0

    public init() {}

    /// Notes that a connection could not be made, or ended too soon.
    /// - Parameter fraction: a random number from 0 to 1, so that processes do not come back together
    public mutating func failed(now: Int64, fraction: Double) {
        failures += 1
        notBefore = now + Int64(Self.backoff.pause(after: failures) * fraction / .milliseconds(1))
    }

    public mutating func succeeded() { self = ReconnectDelay() }
    /// The rest of the wait; nil if an attempt is due.
    public func remaining(now: Int64) -> Duration? { now < notBefore ? .milliseconds(notBefore - now) : nil }
}
