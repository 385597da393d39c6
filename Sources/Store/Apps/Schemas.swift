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
    /// The most attributes types of one app that have a schema: enough for a type of each card and version. It bounds
    /// what `all` reads at once.
    public static let maximum = 200

    let redis: RedisClient
    let keys: Keyspace

    /// Whether the node of the app's schemas is known to be away.
    public func isAway(_ app: AppKey) -> Bool { redis.isAway(keys.schemas(app)) }

    public func version(_ app: AppKey) async throws(StoreError) -> Int {
        let reply = try await redis.run("HGET", keys.schemas(app), "version")
        return reply.isNil ? 0 : try reply.integer()
    }

    public func all(_ app: AppKey) async throws(StoreError) -> SchemaSet {
        let reply = try await redis.run("HGETALL", keys.schemas(app))
        var set = SchemaSet(version: 0, documents: [:])
        for (field, value) in try reply.pairs() {
            let field = try field.string()
            if let type = field.rest(behind: NamedRecords.prefix) {
                set.documents[ExactText(type)] = Array(try value.bytes())
            } else if field == "version" {
                set.version = try value.integer()
            }
        }
        return set
    }

    public func document(_ app: AppKey, type: String) async throws(StoreError) -> [UInt8]? {
        try await documents.find(app, type)
    }

    /// - Returns: false if the app has too many types.
    public func set(_ app: AppKey, type: String, document: [UInt8]) async throws(StoreError) -> Bool {
        try await documents.set(app, type, document)
    }

    /// - Returns: false if there was none.
    public func delete(_ app: AppKey, type: String) async throws(StoreError) -> Bool {
        try await documents.delete(app, type)
    }

    private var documents: NamedRecords { NamedRecords(redis: redis, key: keys.schemas, maximum: Self.maximum) }

    /// Stores a name's attributes type as long as the name is kept after its last publish; nil removes it.
    public func describe(_ app: AppKey, _ name: ActivityName, type: String?) async throws(StoreError) {
        let key = keys.name(keys.tag(app, name))
        guard let type else {
            try await redis.run("HDEL", key, "type")
            return
        }
        try await redis.run([
            RedisCommand("HSET", key, "type", .string(type)), RedisCommand("PEXPIRE", key, .int(keys.nameRetention)),
        ])
    }

    /// The stored types of names; nil for a name without one.
    public func types(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [String?] {
        let replies = try await redis.run(names.map { RedisCommand("HGET", keys.name(keys.tag(app, $0)), "type") })
        return try replies.map { (reply) throws(StoreError) in try reply.optionalString() }
    }
}
