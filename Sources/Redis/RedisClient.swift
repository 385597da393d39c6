public import Logging

/// SKELETON: interface agreed, to be implemented by the Redis owner.
public struct RedisCommand: Sendable {
    public init(_ name: String, _ arguments: [RedisArgument] = []) { fatalError() }
    public init(_ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = []) { fatalError() }
}

/// Bytes of one argument: literals for strings and integers; `.bytes` for binary.
public struct RedisArgument: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { fatalError() }
    public init(integerLiteral value: Int) { fatalError() }
    public static func string(_ text: String) -> RedisArgument { fatalError() }
    public static func int(_ number: some BinaryInteger) -> RedisArgument { fatalError() }
    public static func bytes(_ bytes: some Collection<UInt8>) -> RedisArgument { fatalError() }
}

public struct RedisScript: Sendable, Hashable {
    public let name: String
    public let source: String
    public init(name: String, source: String) { self.name = name; self.source = source }
}

/// One reply, a view into the arena that a whole pipeline's replies share.
public struct RedisReply: Sendable {
    public var isNil: Bool { fatalError() }
    /// The error reply, if it is one.
    public var error: RedisError? { fatalError() }
    /// Element count of an array; 0 for anything else.
    public var count: Int { fatalError() }
    public subscript(index: Int) -> RedisReply { fatalError() }
    // Typed accessors: throw `unexpectedReply` for another type, and rethrow a `server` error for an error reply.
    public func integer() throws(RedisError) -> Int { fatalError() }
    public func bytes() throws(RedisError) -> ArraySlice<UInt8> { fatalError() }
    public func string() throws(RedisError) -> String { fatalError() }
    public func array() throws(RedisError) -> [RedisReply] { fatalError() }
}

public final class RedisClient: Sendable {
    public init(url: RedisURL, connections: Int = 2, scripts: [RedisScript] = [], options: RedisOptions = RedisOptions(), logger: Logger) { fatalError() }
    /// All commands in one round trip on one connection; error replies stay in their place.
    public func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] { fatalError() }
    /// One command; an error reply is thrown.
    @discardableResult
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply { fatalError() }
    /// MULTI, the commands, EXEC in one round trip: an atomic view. All keys must share a hash tag.
    public func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] { fatalError() }
    /// Fails what is queued with `closed`, closes the connections and ends their threads.
    public func close() async { fatalError() }
}

public struct RedisOptions: Sendable {
    public var connectTimeout: Duration = .seconds(5)
    public var commandTimeout: Duration = .seconds(5)
    public init() {}
}

public struct RedisURL: Sendable, Hashable, CustomStringConvertible {
    public init(_ text: String) throws(RedisURLError) { fatalError() }
    /// Without the password.
    public var description: String { fatalError() }
}
public struct RedisURLError: Error, Hashable, CustomStringConvertible {
    public let description: String
    public init(description: String) { self.description = description }
}
