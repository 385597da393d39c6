internal import Logging
internal import OpenSSL

/// What the lanes of one transport share.
struct LaneSettings: Sendable {
    /// `https://host[:port]`
    var origin: String
    /// PEM of the roots; nil = the system's.
    var caFile: String?
    /// Milliseconds for one request, and for the making of a connection.
    var requestTimeout: Int64
    var maximumStreams: Int
    var tokens: ProviderTokenSource
    var logger: Logger

    /// Throws when the configuration cannot send: a key that is none, a CA file without a certificate, …
    init(_ configuration: APNsConfiguration, _ logger: Logger) throws(APNsClientError) {
        origin = configuration.origin
        caFile = configuration.caFile
        requestTimeout = max(1, Int64(configuration.requestTimeout / .milliseconds(1)))
        maximumStreams = configuration.maximumStreams
        tokens = try configuration.providerTokens()
        self.logger = logger
    }
}
