/// libcurl could not be set up. A transfer that fails reports a `TransferFault` instead.
public enum CurlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A handle could not be made: out of memory.
    case unavailable(operation: String)
    /// libcurl refused an option, with this code and error text.
    case refused(operation: String, code: Int32, message: String)

    public var description: String {
        switch self {
        case .unavailable(let operation): "libcurl: \(operation) failed: out of memory"
        case .refused(let operation, let code, let message): "libcurl: \(operation) failed: \(message) (\(code))"
        }
    }
}
