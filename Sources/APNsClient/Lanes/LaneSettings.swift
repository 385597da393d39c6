internal import Logging
internal import OpenSSL

/// Settings that the lanes of one transport share.
struct LaneSettings: Sendable {
    /// `https://host[:port]`
    var origin: String
    /// PEM file of the root certificates; nil: the system's.
    var caFile: String?
    /// Milliseconds for one request, and for making a connection.
    var requestTimeout: Int64
    var maximumStreams: Int
    var tokens: ProviderTokenSource
    /// Epoch milliseconds.
    var clock: @Sendable () -> Int64
    var logger: Logger
    var metrics: LaneMetrics

    /// - Throws: if the configuration cannot send, for example with an unusable key or a CA file without a certificate
    init(_ configuration: APNsConfiguration, _ logger: Logger) throws(APNsClientError) {
        origin = configuration.origin
        caFile = configuration.caFile
        requestTimeout = max(1, Int64(configuration.requestTimeout / .milliseconds(1)))
        maximumStreams = configuration.maximumStreams
        tokens = try configuration.providerTokens()
        clock = configuration.clock
        self.logger = logger
        metrics = LaneMetrics(app: configuration.app)
    }
}
