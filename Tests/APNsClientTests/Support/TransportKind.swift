import APNsClient
import Logging
import Testing

/// The implementations of `PushTransport`. Each one is a case here and runs every test of `TransportTests`.
enum TransportKind: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
    case libcurl
    case nghttp2

    func make(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) -> any PushTransport {
        switch self {
        case .libcurl: try CurlTransport(configuration: configuration, logger: logger)
        case .nghttp2: try NGHTTP2Transport(configuration: configuration, logger: logger)
        }
    }

    var testDescription: String { rawValue }
}
