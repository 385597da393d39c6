/// Exponential backoff with full jitter: before attempt n + 1 a random time between 0 and `base` × 2ⁿ⁻¹, at most `cap`.
/// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
public struct Backoff: Sendable, Hashable {
    public var base: Duration = .seconds(1)
    public var cap: Duration = .seconds(60)
    /// Attempts of one token, the first included.
    public var attempts = 10

    public init() {}

    /// `attempts` made so far, at least 1; `fraction` in 0 ..< 1 from a random source; `retryAfter`, in seconds, is a lower
    /// bound (at most an hour: no answer of a server may put a token off for ever).
    public func delay(afterAttempts attempts: Int, fraction: Double, retryAfter: Int? = nil) -> Duration {
        let ceiling = min(cap, base * (1 << min(max(attempts, 1) - 1, 20)))
        let jittered = ceiling * fraction
        guard let retryAfter, retryAfter > 0 else { return jittered }
        return .seconds(min(retryAfter, 3_600)) + jittered
    }
}
