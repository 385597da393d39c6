public import APNsWire
public import LiveActivity
public import Logging

/// Sends through libcurl: `lanes` threads with one HTTP/2 connection each, which share one provider token. Pages go where
/// streams are free. Connections are made as work needs them and kept for hours.
///
/// Certificate and host name are always checked, redirects never followed, and no proxy is used: environment variables
/// cannot send the provider token anywhere else.
public final class CurlTransport: PushTransport {
    private let lanes: LanePool

    /// Throws when the configuration cannot send: a key that is none, a CA file without a certificate, …
    public init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        let settings = try LaneSettings(configuration, logger)
        lanes = try LanePool(configuration.lanes) { seat in { Lane(settings, seat).run() } }
    }

    public var load: Int { lanes.load }

    public func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission
    ) async -> PageOutcome {
        await lanes.send(page, .devices(push), while: permission)
    }

    public func close() async { await lanes.close() }
}
