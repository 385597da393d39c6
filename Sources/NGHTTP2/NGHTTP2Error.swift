internal import CNGHTTP2

/// nghttp2 could not do a call. The fate of a request is an `EndedStream` instead.
public struct NGHTTP2Error: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ operation: String, _ code: Int32) {
        let isOutOfMemory = code == NGHTTP2_ERR_NOMEM.rawValue
        let message = isOutOfMemory ? "out of memory" : "\(String(cString: nghttp2_strerror(code))) (\(code))"
        description = "nghttp2: \(operation) failed: \(message)"
    }
}
