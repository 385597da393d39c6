public import APNsWire
public import LiveActivity
public import Logging

/// The lanes that a transport can have.
public enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// libcurl's multi interface.
    case libcurl
    /// nghttp2 and OpenSSL. This lane reads the frames, so it knows exactly whether a request was sent, processed or
    /// refused.
    case nghttp2

    var lane: any Lane.Type {
        switch self {
        case .libcurl: CurlLane.self
        case .nghttp2: NGHTTP2Lane.self
        }
    }
}

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
