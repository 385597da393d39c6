public import Redis

/// Commands without keys, for one server or for every primary of a cluster.
extension RedisClient {
    @discardableResult
    public func everywhere(_ name: String, _ arguments: RedisArgument...) async throws -> [RedisReply] {
        let replies = try await onEachPrimary([RedisCommand(name, arguments)]).map { $0.replies[0] }
        for reply in replies { if let error = reply.error { throw error } }
        return replies
    }

    public func keys(_ pattern: String) async throws -> [String] {
        try await everywhere("KEYS", .string(pattern)).flatMap { try $0.array().map { try $0.string() } }
    }

    public func keyCount() async throws -> Int {
        try await everywhere("DBSIZE").reduce(0) { try $0 + $1.integer() }
    }

    /// A number of INFO, summed over all servers.
    public func total(_ field: String, of section: RedisArgument) async throws -> Int {
        try await everywhere("INFO", section).reduce(0) { try $0 + (Int($1.infoFields()[field] ?? "") ?? 0) }
    }
}
