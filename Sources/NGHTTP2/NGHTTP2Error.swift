internal import CNGHTTP2

/// nghttp2 could not do a call. The fate of a request is an `EndedStream` instead.
public enum NGHTTP2Error: Error, Sendable, Hashable, CustomStringConvertible {
    case unavailable(operation: String)
    /// nghttp2's code and error text.
    case failed(operation: String, code: Int32, message: String)

    init(_ operation: String, _ code: Int32) {
        self =
            code == NGHTTP2_ERR_NOMEM.rawValue
            ? .unavailable(operation: operation)
            : .failed(operation: operation, code: code, message: String(cString: nghttp2_strerror(code)))
    }

    public var description: String {
        switch self {
        case .unavailable(let operation): "nghttp2: \(operation) failed: out of memory"
        case .failed(let operation, let code, let message): "nghttp2: \(operation) failed: \(message) (\(code))"
        }
    }
}
