/// libcurl could not be set up, or refused an option. A transfer that fails reports a `TransferFault` instead.
public struct CurlError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ operation: String, _ message: String = "out of memory") {
        description = "libcurl: \(operation) failed: \(message)"
    }

    init(_ operation: String, code: some FixedWidthInteger, _ message: UnsafePointer<CChar>?) {
        self.init(operation, "\(message.map { String(cString: $0) } ?? "") (\(code))")
    }
}
