import Redis

extension RedisClient {
    /// Removes at most `limit` members of a sorted set whose time is over. The limit is there because a set may have
    /// grown for weeks.
    ///
    /// - Returns: how many were removed.
    func removeOver(_ set: RedisArgument, upTo time: Int64, limit: Int) async throws(StoreError) -> Int {
        let reply = try await run([
            RedisCommand("ZRANGEBYSCORE", [set, "-inf", .int(time), "LIMIT", "0", .int(limit)])
        ])[0]
        let members = try redisErrors { () throws(RedisError) in
            try reply.array().map { (member) throws(RedisError) in RedisArgument.bytes(Array(try member.bytes())) }
        }
        if !members.isEmpty { _ = try await run([RedisCommand("ZREM", [set] + members)]) }
        return members.count
    }
}
