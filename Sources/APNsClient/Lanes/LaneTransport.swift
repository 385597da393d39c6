public import APNsWire
public import LiveActivity
public import Logging

/// Sends through lanes: `lanes` threads, which have one HTTP/2 connection each and share one provider token. Pages go
/// where streams are free. Connections are made when work needs them, and kept for hours.
///
/// Certificate and host name are always checked. Redirects are never followed and no proxy is used, so environment
/// variables cannot send the provider token anywhere else.
public final class LaneTransport: PushTransport {
    private let lanes: LanePool

    /// - Throws: if the configuration cannot send, for example with an unusable key or a CA file without a certificate
    public init(_ kind: TransportKind, configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        lanes = try LanePool(configuration.lanes, kind, try LaneSettings(configuration, logger))
    }

    public var load: Int { lanes.load }

    public func send(_ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission) async -> PageOutcome
    {
        await lanes.send(page, .devices(push), while: permission)
    }

    public func close() async { await lanes.close() }
}
