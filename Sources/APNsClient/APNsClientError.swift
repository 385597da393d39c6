public import OpenSSL

/// A configuration that cannot send. Each names the field and what it should hold; none holds a key or token.
public enum APNsClientError: Error, Sendable, Hashable, CustomStringConvertible {
    case origin(String)
    /// `team_id` or `key_id`.
    case identifier(field: String)
    case key(SigningKeyError)
    case caFile(path: String, problem: String)
    case limit(field: String, rule: String)
    /// The system refuses another thread or handle: its words.
    case system(String)

    /// The configuration is good, the machine is short of something.
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
        case .system(let words): words
        }
    }
}
