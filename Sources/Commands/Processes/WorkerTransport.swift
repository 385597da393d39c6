import APNsClient
import Logging
import Settings

extension Settings.Worker.Transport {
    var kind: TransportKind {
        switch self {
        case .libcurl: .libcurl
        case .nghttp2: .nghttp2
        }
    }

    /// Makes the transport of one app. Throws if the configuration cannot send.
    func make(_ configuration: APNsConfiguration, _ logger: Logger) throws(APNsClientError) -> any PushTransport {
        try LaneTransport(kind, configuration: configuration, logger: logger)
    }
}
