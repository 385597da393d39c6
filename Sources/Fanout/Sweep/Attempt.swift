/// One attempt for a token or a broadcast, and what decides about the next one.
struct Attempt {
    /// Attempts before this one.
    var made: Int
    /// A token's attempt in the app's other environment.
    var isElsewhere = false
    /// Epoch milliseconds.
    var now: Int64
    /// Epoch milliseconds after which there is no attempt.
    var deadline: Int64
    /// The push has no retries.
    var triesOnce: Bool
    var backoff: RetryPolicy
    /// A random number in 0 ..< 1.
    var fraction: Double

    func pause(_ retryAfter: Int? = nil) -> Duration {
        backoff.delay(afterAttempts: made + 1, fraction: fraction, retryAfter: retryAfter)
    }

    /// - Parameter isSpent: false if APNs has not seen this attempt, so it does not count
    func again(after delay: Duration, isSpent: Bool = true, retryAfter: Int? = nil) -> PageReport.Decision {
        let attempts = isSpent ? made + 1 : made
        if isSpent, triesOnce || backoff.isSpent(after: attempts) { return .failed }
        guard let due = RetryPolicy.due(after: delay, retryAfter: retryAfter, now: now, deadline: deadline)
        else { return .expired }
        return .retry(due: due, attempts: min(attempts, RetryPolicy.mostCounted))
    }
}
