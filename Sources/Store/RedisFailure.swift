public import Redis

/// Why Redis did not do what it was asked.
public struct RedisFailure: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// Nothing was executed.
        case unreachable, insecure
        /// The connection broke. The command may have been executed.
        case lost
        /// Redis sent an error reply. The code is its first word.
        case refused(code: String)
        /// A reply in another form than the command promises, or a command that no node can take.
        case unexpected
        case closed
    }

    public let kind: Kind
    /// Whether the same command may succeed soon without help from an operator.
    public let isPassing: Bool
    /// With advice for an operator.
    public let description: String
}

extension RedisFailure {
    public init(_ error: RedisError) {
        kind =
            switch error {
            case .unreachable: .unreachable
            case .insecure: .insecure
            case .lost: .lost
            case .server(let code, _): .refused(code: code)
            case .unexpectedReply, .unroutable: .unexpected
            case .closed: .closed
            }
        isPassing = error.isRetriable
        description = error.description
    }
}
