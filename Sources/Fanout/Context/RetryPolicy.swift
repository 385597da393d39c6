import Delivery
import LiveActivity
import Threads

/// How often and when tokens and broadcasts are tried again. Their retries end with their push. The pauses are a
/// `Backoff` with full jitter: before attempt n + 1 a random time from 0 to `base` × 2ⁿ⁻¹, at most `cap`.
public struct RetryPolicy: Sendable, Hashable {
    public var base: Duration = .seconds(1)
    public var cap: Duration = .seconds(60)
    /// The cap after `quickAttempts` attempts. In an outage of hours each token is tried every few minutes. If APNs
    /// answers a million tokens with 503, that makes some 7,000 requests a second, not 30,000.
    public var longCap: Duration = .seconds(300)
    /// Attempts for one token, including the first. 0: the retries go on until the push expires.
    public var attempts = 0

    /// Attempts before `longCap` applies. With the default `base` and `cap` they take about four minutes.
    static let quickAttempts = 10
    /// A retry queue stores its attempts in two bytes. Numbers from 16,384 on are flags there.
    static let mostCounted = 10_000

    /// The most attempts that a push inherits from a waiting one that it supersedes. At least as many are left for it.
    var inherited: Int { (attempts == 0 ? Self.quickAttempts : min(Self.quickAttempts, attempts)) / 2 }

    /// Whether a token had its last attempt.
    func isSpent(after made: Int) -> Bool { attempts > 0 && made >= attempts }

    public init() {}

    /// The pause before the next attempt.
    /// - Parameters:
    ///   - attempts: attempts made so far, at least 1
    ///   - fraction: a random number in 0 ..< 1
    ///   - retryAfter: a lower bound in seconds, at most an hour, because no answer may postpone a token for ever
    public func delay(afterAttempts attempts: Int, fraction: Double, retryAfter: Int? = nil) -> Duration {
        let cap = attempts > Self.quickAttempts ? longCap : cap
        return Self.lowerBound(retryAfter) + Backoff(first: base, cap: cap).pause(after: attempts) * fraction
    }

    /// The pause that `Retry-After` (seconds) asks for.
    static func lowerBound(_ retryAfter: Int?) -> Duration {
        .seconds(min(max(retryAfter ?? 0, 0), RetryAfter.longest))
    }

    /// When to try again. The last attempt comes shortly before the deadline, so that a long delay does not cost the
    /// device its push. A `Retry-After` beyond the deadline is respected: the entry is given up at the deadline.
    /// - Parameters:
    ///   - delay: the result of `delay(afterAttempts:fraction:retryAfter:)`
    ///   - now, deadline: epoch milliseconds
    /// - Returns: epoch milliseconds; nil when the deadline is too close for another attempt
    static func due(after delay: Duration, retryAfter: Int? = nil, now: Int64, deadline: Int64) -> Int64? {
        let due = now + delay.milliseconds
        if due <= deadline { return due }
        guard now < deadline else { return nil }
        let earliest = now + lowerBound(retryAfter).milliseconds
        if earliest > deadline { return deadline }
        let margin = min(lastAttempt.milliseconds, (deadline - now) / 8)
        // No request is answered in less than 20 ms. The limit also ends the attempts, which come ever closer.
        guard margin >= 20 else { return nil }
        return max(earliest, deadline - margin)
    }

    /// How long before the deadline the last attempt is made.
    private static let lastAttempt: Duration = .seconds(2)
}
