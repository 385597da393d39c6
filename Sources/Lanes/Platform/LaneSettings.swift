public import Logging

/// Settings that the lanes of one transport share.
public struct LaneSettings: Sendable {
    let platform: LanePlatform
    let origin: Origin
    /// PEM file of the root certificates; nil: the system's.
    let caFile: String?
    /// Milliseconds for one request, and for making a connection.
    let requestTimeout: Int64
    let maximumStreams: Int
    /// Epoch milliseconds, by which `Retry-After` dates are read.
    let clock: @Sendable () -> Int64
    let logger: Logger
    let metrics: LaneMetrics

    /// - Parameters:
    ///   - app: the app's key, the label of its metrics
    ///   - maximumStreams: the most requests in flight on one connection, whatever the server allows
    public init(
        _ platform: LanePlatform, origin: Origin, caFile: String?, requestTimeout: Duration, maximumStreams: Int,
        app: String, clock: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.platform = platform
        self.origin = origin
        self.caFile = caFile
        self.requestTimeout = max(1, Int64(requestTimeout / .milliseconds(1)))
        self.maximumStreams = maximumStreams
        self.clock = clock
        self.logger = logger
        metrics = LaneMetrics(platform.name, app: app)
    }
}

/// The system refused a thread or a descriptor, with this text.
public struct LaneError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
