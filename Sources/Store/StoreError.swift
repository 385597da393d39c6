public import LiveActivity
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
        /// The client was closed.
        case closed
    }

    public let kind: Kind
    /// Whether the same command may succeed soon without help from an operator.
    public let isPassing: Bool
    /// With advice for an operator.
    public let description: String
}

/// Errors of Redis and of its data.
public enum StoreError: Error, Sendable, Hashable {
    case redis(RedisFailure)
    /// Bytes in Redis that no version of Lamplighter writes. The text says the kind of key, never its content.
    case corrupt(String)
    /// A push is committed and may go out, but too few replicas confirmed it in time.
    case unreplicated(replicas: Int, of: Int)
    /// The channel would have too many tags. It was not changed.
    case tooManyTags(ChannelID, limit: Int)
    /// The app has as many as its quota allows. Nothing was added.
    case quotaReached(Quota, limit: Int)
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

extension StoreError {
    public init(_ error: RedisError) { self = .redis(RedisFailure(error)) }

    static func unexpectedReply(_ what: String) -> StoreError { StoreError(RedisError.unexpectedReply(what)) }

    /// Whether the same call may succeed soon without help from an operator.
    public var isPassing: Bool {
        if case .redis(let failure) = self { failure.isPassing } else { false }
    }

    /// Redis lost its streams: it was emptied, or restarted without its data.
    public var isMissingGroup: Bool {
        if case .redis(let failure) = self { failure.kind == .refused(code: "NOGROUP") } else { false }
    }
}
