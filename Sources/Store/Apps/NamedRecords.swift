public import LiveActivity
import Redis

/// Small records of an app by name, as many as it may have, such as schemas by attributes type.
public struct NamedRecords: Sendable {
    let redis: RedisClient
    let key: @Sendable (AppKey) -> RedisKey
    public let maximum: Int

    /// In byte order of the names.
    public func all(_ app: AppKey) async throws(StoreError) -> [(name: String, record: [UInt8])] {
        var found: [(name: String, record: [UInt8])] = []
        for (field, value) in try await redis.run("HGETALL", key(app)).pairs() {
            guard let name = try field.string().rest(behind: Self.prefix) else { continue }
            found.append((String(name), Array(try value.bytes())))
        }
        return found.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    public func find(_ app: AppKey, _ name: String) async throws(StoreError) -> [UInt8]? {
        try await redis.run("HGET", key(app), .string(Self.prefix + name)).optionalBytes().map { Array($0) }
    }

    /// - Returns: false if the app has as many as it may have.
    public func set(_ app: AppKey, _ name: String, _ record: [UInt8]) async throws(StoreError) -> Bool {
        try await put(app, name, .bytes(record))
    }

    /// - Returns: false if there was none.
    public func delete(_ app: AppKey, _ name: String) async throws(StoreError) -> Bool {
        try await put(app, name, "")
    }

    private func put(_ app: AppKey, _ name: String, _ record: RedisArgument) async throws(StoreError) -> Bool {
        try await redis.run(
            Lua.schemaSet, keys: ["schemas": key(app)],
            ["field": .string(Self.prefix + name), "document": record, "most": .int(maximum)]
        ).isOne()
    }

    /// Begins the field of each record; `version` is none of them.
    static let prefix = "t:"
}
