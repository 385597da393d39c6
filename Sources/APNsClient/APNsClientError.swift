public import OpenSSL

/// A configuration that cannot send. Each case names the field and the expected value. No case holds a key or token.
public enum APNsClientError: Error, Sendable, Hashable, CustomStringConvertible {
    case origin(String)
    /// `team_id` or `key_id`.
    case identifier(field: String)
    case key(SigningKeyError)
    case caFile(path: String, problem: String)
    case limit(field: String, rule: String)
    /// The system refused another thread or handle, with this error text.
    case system(String)

    /// True if the configuration is good, but the machine lacks something.
    public var isRetriable: Bool {
        if case .system = self { true } else { false }
    }

    public var description: String {
        switch self {
        case .origin(let origin):
            "apns url \(origin.debugDescription): expected https://host or https://host:port, without a path"
        case .identifier(let field):
            "apns \(field): expected 1 to 64 letters and digits, as Apple's developer site shows it"
        case .key(let error): "apns key_file: \(error)"
        case .caFile(let path, let problem): "apns ca_file \(path.debugDescription): \(problem)"
        case .limit(let field, let rule): "\(field): expected \(rule)"
        case .system(let message): message
        }
    }
}
