import LiveActivity
import Synchronization

/// Samples the access log by route and status, so that a caller who repeats a request does not bury other lines.
final class RequestSampling: Sendable {
    private struct Kind: Hashable {
        var route: String
        var status: Int
    }

    /// Routes and statuses are fixed sets, so the dictionary stays small.
    private let kinds = Mutex<[Kind: LogThrottle]>([:])

    /// - Parameter route: a pattern of `Endpoint`, or another fixed word
    /// - Returns: the number of lines left out since the last one of its kind. Nil if this line is to be left out too.
    func take(route: String, status: Int, now: ContinuousClock.Instant = .now) -> Int? {
        let kind = Kind(route: route, status: status)
        let throttle = kinds.withLock { kinds in
            if let throttle = kinds[kind] { return throttle }
            let throttle =
                status < 400
                ? LogThrottle(burst: 1_000, perSecond: 100, now: now)
                : LogThrottle(burst: 100, perSecond: 10, now: now)
            kinds[kind] = throttle
            return throttle
        }
        return throttle.take(now: now)
    }
}
