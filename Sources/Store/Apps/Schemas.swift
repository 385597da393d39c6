public import LiveActivity
import Redis

/// The schemas of one app's attributes types at one moment.
public struct SchemaSet: Sendable, Hashable {
    /// Grows with each change.
    public var version: Int
    /// Documents as an operator put them, by attributes type.
    public var documents: [ExactText: [UInt8]]
}

/// Schemas of attributes types, and the attributes types of names.
public struct Schemas: Sendable {
    /// Most types of one app.
    public static let most = 200

    let redis: RedisClient
    let keys: Keyspace

    public func version(_ app: AppKey) async throws(StoreError) -> Int {
        let reply = try await redis.run([RedisCommand("HGET", [.string(keys.schemas(app)), Self.versionField])])[0]
        return try redisErrors { () throws(RedisError) in reply.isNil ? 0 : try reply.integer() }
    }

    public func all(_ app: AppKey) async throws(StoreError) -> SchemaSet {
        let reply = try await redis.run([RedisCommand("HGETALL", [.string(keys.schemas(app))])])[0]
        let items = try redisErrors { () throws(RedisError) in try reply.array() }
        var set = SchemaSet(version: 0, documents: [:])
        try redisErrors { () throws(RedisError) in
            for index in stride(from: 0, to: items.count - 1, by: 2) {
                let field = try items[index].string()
                if let type = field.rest(behind: Self.typePrefix) {
                    set.documents[ExactText(type)] = Array(try items[index + 1].bytes())
                } else if field == "version" {
                    set.version = try items[index + 1].integer()
                }
            }
        }
        return set
    }

    public func document(_ app: AppKey, type: String) async throws(StoreError) -> [UInt8]? {
        let reply = try await redis.run([
            RedisCommand("HGET", [.string(keys.schemas(app)), .string(Self.typePrefix + type)])
        ])[0]
        return try redisErrors { () throws(RedisError) in reply.isNil ? nil : Array(try reply.bytes()) }
    }

    /// - Returns: false if the app has too many types.
    public func set(_ app: AppKey, type: String, document: [UInt8]) async throws(StoreError) -> Bool {
        let reply = try await redis.run([
            RedisCommand(
                Lua.schemaSet, keys: [.string(keys.schemas(app))],
                arguments: [.string(Self.typePrefix + type), .bytes(document), .int(Self.most)])
        ])[0]
        return try redisErrors { () throws(RedisError) in try reply.integer() == 1 }
    }

    /// - Returns: false if there was none.
    public func delete(_ app: AppKey, type: String) async throws(StoreError) -> Bool {
        let reply = try await redis.run([
            RedisCommand(
                Lua.schemaSet, keys: [.string(keys.schemas(app))], arguments: [.string(Self.typePrefix + type)])
        ])[0]
        return try redisErrors { () throws(RedisError) in try reply.integer() == 1 }
    }

    /// Stores a name's attributes type. It is kept as long as the name's sequence number: a week after the last
    /// publish.
    ///
    /// - Parameter type: nil removes it.
    public func describe(_ app: AppKey, _ name: ActivityName, type: String?) async throws(StoreError) {
        let key = RedisArgument.string(keys.name(keys.tag(app, name)))
        guard let type else {
            _ = try await redis.run([RedisCommand("HDEL", [key, "type"])])
            return
        }
        _ = try await redis.run([
            RedisCommand("HSET", [key, "type", .string(type)]),
            RedisCommand("PEXPIRE", [key, .int(Pushes.retention.milliseconds)]),
        ])
    }

    /// The stored types of names; nil for a name without one.
    public func types(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [String?] {
        let replies = try await redis.run(
            names.map { RedisCommand("HGET", [.string(keys.name(keys.tag(app, $0))), "type"]) })
        return try redisErrors { () throws(RedisError) in
            try replies.map { (reply) throws(RedisError) in reply.isNil ? nil : try reply.string() }
        }
    }

    private static let typePrefix = "t:"
    private static let versionField: RedisArgument = "version"
}
