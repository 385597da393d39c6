import LiveActivity
import Logging
import Synchronization

/// One line of the access log. It holds the route's pattern instead of the path, so that names and channels stay out.
struct AccessRecord: Sendable {
    let operation: String
    let endpoint: Endpoint?
    var app: AppKey?
    /// The caller, if the secret was right.
    var caller: Publisher?
    /// The internal cause of a 5xx.
    var cause: String?
    /// The client's address, for a failed authentication.
    var address: String?

    /// A caller could otherwise make new log and metric labels from invented methods.
    var method: String { endpoint?.method ?? "OTHER" }
    var route: String { endpoint?.pattern ?? "unknown" }

    /// Writes the line at the level that fits the answer. The answer's warnings name paths of the body, not values.
    /// - Parameter leftOut: how many similar lines were left out before this one.
    func write(_ answer: Answer, bytesIn: Int, _ duration: Duration, leftOut: Int, to logger: Logger) {
        var metadata: Logger.Metadata = [
            "operation": .string(operation), "method": .string(method), "route": .string(route),
            "status": .stringConvertible(answer.status), "ms": .stringConvertible(duration.milliseconds),
            "in": .stringConvertible(bytesIn), "out": .stringConvertible(answer.body.count),
        ]
        if let app { metadata["app"] = .string(app.rawValue) }
        if !answer.pushes.isEmpty { metadata["push"] = .string(answer.pushes.prefix(5).joined(separator: ",")) }
        if !answer.warnings.isEmpty { metadata["warnings"] = "\(answer.warnings.prefix(5).joined(separator: "; "))" }
        if let caller {
            metadata["credential"] = .string(caller.credential)
            metadata["address"] = .string(caller.address)
        }
        if let address { metadata["address"] = .string(address) }
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        if let cause { metadata["cause"] = .string(cause) }
        logger.log(level: level(answer), "request", metadata: metadata)
    }

    func level(_ answer: Answer) -> Logger.Level {
        switch (answer.status, endpoint?.access) {
        case (500, _): .error
        // The cause is Redis or our own limits, and the caller tries again.
        case (503, _): .warning
        case _ where !answer.warnings.isEmpty: .warning
        case (_, .anyone): .debug
        // There are as many as devices. `lamplighter_registrations_total` counts them.
        case (..<400, _) where endpoint?.isOfDevices == true: .debug
        default: .info
        }
    }
}

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
