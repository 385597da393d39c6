internal import Curl

/// The lanes that a transport can have.
public enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// libcurl's multi interface.
    case libcurl
    /// nghttp2 and OpenSSL. This lane reads the frames, so it knows if a request was sent, processed or refused.
    case nghttp2

    /// A fault of the loaded library that operators should know, and its remedy. Nil if it has none.
    public var fault: (problem: String, remedy: String)? {
        guard self == .libcurl, CurlLibrary.resetsFinishedStreams else { return nil }
        let version = CurlLibrary.version.text
        return (
            "libcurl \(version) resets each stream after its answer; some servers then close the connection, and up to an"
                + " eighth of the requests may be delivered twice",
            "leave worker.transport at nghttp2, or install libcurl 8.14 or later"
        )
    }

    var lane: any Lane.Type {
        switch self {
        case .libcurl: CurlLane.self
        case .nghttp2: NGHTTP2Lane.self
        }
    }
}
