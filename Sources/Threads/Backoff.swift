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
