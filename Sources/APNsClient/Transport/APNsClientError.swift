public import OpenSSL

/// A configuration that cannot send. No case holds a key or token.
public enum APNsClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A wrong value: its field, and the expected value.
    case configuration(field: String, String)
    case key(SigningKeyError)
    /// The system refused another thread or handle, with this error text.
    case system(String)

    static func origin(_ origin: String) -> APNsClientError {
        let expected = "expected https://host or https://host:port, without a path"
        return .configuration(field: "apns url \(origin.debugDescription)", expected)
    }

    /// True if the configuration is good, but the machine lacks something.
    public var isRetriable: Bool { if case .system = self { true } else { false } }

    public var description: String {
        switch self {
        case .configuration(let field, let text): "\(field): \(text)"
        case .key(let error): "apns key_file: \(error)"
        case .system(let message): message
        }
    }
}
