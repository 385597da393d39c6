import APNsWire
import LiveActivity

/// Exponential backoff with full jitter: before attempt n + 1 a random time between 0 and `base` × 2ⁿ⁻¹, at most `cap`.
/// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
public struct Backoff: Sendable, Hashable {
    public var base: Duration = .seconds(1)
    public var cap: Duration = .seconds(60)
    /// The cap after `quickAttempts` attempts. Nil: `cap` stays.
    public var longCap: Duration?
    /// Attempts of one token, the first included. Nil: the retries go on until the push expires.
    public var attempts: Int?

    /// Attempts before `longCap` counts. With `base` and `cap` as they are, these take about four minutes.
    static let quickAttempts = 10
    /// A waiting channel's line has two bytes for its attempts, and a mark of its own in them.
    static let mostCounted = 10_000

    /// Attempts that a push takes over, at most, from one whose place it takes: it has as many of its own left.
    var inherited: Int { min(Self.quickAttempts, attempts ?? .max) / 2 }

    public init() {}

    /// The retries of tokens and broadcasts, which end with their push. In an outage of hours each token asks every few
    /// minutes: a million tokens that are all answered 503 make some 7,000 requests a second, not 30,000.
    public static let ofPushes: Backoff = {
        var backoff = Backoff()
        backoff.longCap = .seconds(300)
        return backoff
    }()

    /// `attempts` made so far, at least 1; `fraction` in 0 ..< 1 from a random source; `retryAfter`, in seconds, is a lower
    /// bound (at most an hour: no answer of a server may put a token off for ever).
    public func delay(afterAttempts attempts: Int, fraction: Double, retryAfter: Int? = nil) -> Duration {
        let cap = attempts > Self.quickAttempts ? longCap ?? cap : cap
        let ceiling = min(cap, base * (1 << min(max(attempts, 1) - 1, 20)))
        return Self.lowerBound(retryAfter) + ceiling * fraction
    }

    /// The pause that `Retry-After` (seconds) asks for.
    static func lowerBound(_ retryAfter: Int?) -> Duration {
        .seconds(min(max(retryAfter ?? 0, 0), RetryAfter.longest))
    }

    /// When to try again. The last attempt comes shortly before the deadline, so that a long delay costs nobody the push.
    /// A `Retry-After` that reaches past the deadline is kept to: what waits for it is given up at the deadline.
    ///
    /// - Parameters:
    ///   - delay: what `delay` gave.
    ///   - now, deadline: epoch milliseconds.
    /// - Returns: epoch milliseconds; nil when the deadline is too close for another attempt.
    static func due(after delay: Duration, retryAfter: Int? = nil, now: Int64, deadline: Int64) -> Int64? {
        let due = now + delay.milliseconds
        if due <= deadline { return due }
        guard now < deadline else { return nil }
        let earliest = now + lowerBound(retryAfter).milliseconds
        if earliest > deadline { return deadline }
        let margin = min(lastAttempt.milliseconds, (deadline - now) / 8)
        // In less no request is answered. It also ends the attempts, each of which comes closer to the deadline.
        guard margin >= 20 else { return nil }
        return max(earliest, deadline - margin)
    }

    /// How long before the deadline the last attempt is made.
    private static let lastAttempt: Duration = .seconds(2)
}
