import LiveActivity
import Logging

/// One line of the access log. Holds the route's pattern, not the path: names of activities and channels stay out, as do
/// headers and bodies.
struct AccessRecord: Sendable {
    let operation: String
    let endpoint: Endpoint?
    var app: AppKey?
    /// What lay behind a 5xx, in the system's own words.
    var cause: String?
    /// The client's, of a failed authentication.
    var address: String?
    /// Of an accepted request. They name paths of the body, not values.
    private(set) var warnings: [String] = []
    private(set) var status = 0
    private(set) var bytesIn = 0
    private(set) var bytesOut = 0
    private(set) var duration: Duration = .zero

    init(operation: String, endpoint: Endpoint?) {
        self.operation = operation
        self.endpoint = endpoint
    }

    /// A caller's own word for a method would be a label of his making.
    var method: String { endpoint?.method ?? "OTHER" }
    var route: String { endpoint?.pattern ?? "unknown" }

    mutating func finish(_ answer: Answer, bytesIn: Int, duration: Duration) {
        status = answer.status
        warnings = answer.warnings
        bytesOut = answer.body.count
        self.bytesIn = bytesIn
        self.duration = duration
    }

    /// - Parameter leftOut: lines like this one that were not written before it.
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
        switch (status, endpoint?.operation) {
        case (500, _): .error
        // Redis or our own limits; the caller tries again.
        case (503, _): .warning
        case _ where !warnings.isEmpty: .warning
        case (_, .health), (_, .readiness), (_, .metrics): .debug
        default: .info
        }
    }
}
