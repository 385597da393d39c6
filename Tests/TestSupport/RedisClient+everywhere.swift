public import Redis

/// Commands without keys, for one server or for every primary of a cluster.
extension RedisClient {
    @discardableResult
    public func everywhere(_ name: String, _ arguments: RedisArgument...) async throws -> [RedisReply] {
        let replies = try await onEachPrimary([RedisCommand(name, arguments)]).map { $0.replies[0] }
        for reply in replies { if let error = reply.error { throw error } }
        return replies
    }

    /// The keys that match a pattern, such as a key that was made with `*` for its name.
    public func keys(_ pattern: RedisKey = RedisKey("*")) async throws -> [RedisKey] {
        try await everywhere("KEYS", .key(pattern)).flatMap { try $0.array().map { RedisKey(try $0.string()) } }
    }

    public func keyCount() async throws -> Int {
        try await everywhere("DBSIZE").reduce(0) { try $0 + $1.integer() }
    }

    /// A number of INFO, summed over all servers.
    public func total(_ field: String, of section: RedisArgument) async throws -> Int {
        try await everywhere("INFO", section).reduce(0) { try $0 + (Int($1.infoFields()[field] ?? "") ?? 0) }
    }
}
