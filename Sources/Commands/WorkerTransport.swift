import APNsClient
import Logging
import Settings

extension Settings.Worker.Transport {
    /// The sender of one app. Throws when the configuration cannot send.
    func make(_ configuration: APNsConfiguration, _ logger: Logger) throws(APNsClientError) -> any PushTransport {
        switch self {
        case .libcurl: try CurlTransport(configuration: configuration, logger: logger)
        case .nghttp2: try NGHTTP2Transport(configuration: configuration, logger: logger)
        }
    }
}
