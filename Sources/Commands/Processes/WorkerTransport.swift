import APNsClient
import Logging
import Settings

extension Settings.Worker.Transport {
    /// Makes the transport of one app. Throws if the configuration cannot send.
    func make(_ configuration: APNsConfiguration, _ logger: Logger) throws(APNsClientError) -> any PushTransport {
        switch self {
        case .libcurl: try CurlTransport(configuration: configuration, logger: logger)
        case .nghttp2: try NGHTTP2Transport(configuration: configuration, logger: logger)
        }
    }
}
