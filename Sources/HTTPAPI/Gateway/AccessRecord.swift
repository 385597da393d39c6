import LiveActivity
import Logging

/// One line of the access log.
///
/// The line holds the route's pattern instead of the path. So names of
/// activities and channels stay out, and headers and bodies do too.
struct AccessRecord: Sendable {
    let operation: String
    let endpoint: Endpoint?
    var app: AppKey?
    /// The internal cause of a 5xx.
    var cause: String?
    /// The client's address, for a failed authentication.
    var address: String?
    /// Warnings of an accepted request. They name paths of the body, not values.
    private(set) var warnings: [String] = []
    private(set) var status = 0
    private(set) var bytesIn = 0
    private(set) var bytesOut = 0
    private(set) var duration: Duration = .zero

    init(operation: String, endpoint: Endpoint?) {
        self.operation = operation
        self.endpoint = endpoint
    }

    /// A caller could otherwise make new log and metric labels from invented methods.
    var method: String { endpoint?.method ?? "OTHER" }
    var route: String { endpoint?.pattern ?? "unknown" }

    mutating func finish(_ answer: Answer, bytesIn: Int, duration: Duration) {
        status = answer.status
        warnings = answer.warnings
        bytesOut = answer.body.count
        self.bytesIn = bytesIn
        self.duration = duration
    }

    /// Writes the line at the level that fits its status.
    /// - Parameter logger: receives the line.
    /// - Parameter leftOut: how many similar lines `LogAllowance` left out before this one.
    func write(to logger: Logger, leftOut: Int = 0) {
        var metadata: Logger.Metadata = [
            "operation": "\(operation)", "method": "\(method)", "route": "\(route)", "status": "\(status)",
            "ms": "\(duration.milliseconds)", "in": "\(bytesIn)", "out": "\(bytesOut)",
        ]
        if let app { metadata["app"] = "\(app)" }
        if !warnings.isEmpty { metadata["warnings"] = "\(warnings.prefix(5).joined(separator: "; "))" }
        if let address { metadata["address"] = "\(address)" }
        if leftOut > 0 { metadata["left_out"] = "\(leftOut)" }
        if let cause { metadata["cause"] = "\(cause)" }
        logger.log(level: level, "request", metadata: metadata)
    }

    private var level: Logger.Level {
        switch (status, endpoint?.access) {
        case (500, _): .error
        // The cause is Redis or our own limits, and the caller tries again.
        case (503, _): .warning
        case _ where !warnings.isEmpty: .warning
        case (_, .anyone): .debug
        default: .info
        }
    }
}
