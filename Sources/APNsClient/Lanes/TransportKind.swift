/// The lanes that a transport can have.
public enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// libcurl's multi interface.
    case libcurl
    /// nghttp2 and OpenSSL. This lane reads the frames, so it knows if a request was sent, processed or refused.
    case nghttp2

    var lane: any Lane.Type {
        switch self {
        case .libcurl: CurlLane.self
        case .nghttp2: NGHTTP2Lane.self
        }
    }
}
