import Redis

extension RedisClient {
    /// Removes at most `limit` members of a sorted set whose time is over. The limit is there because a set may have
    /// grown for weeks.
    ///
    /// - Returns: how many were removed.
    func removeOver(_ set: RedisKey, upTo time: Int64, limit: Int) async throws(StoreError) -> Int {
        let reply = try await run("ZRANGEBYSCORE", set, "-inf", .int(time), "LIMIT", "0", .int(limit))
        let members = try reply.array().map { (member) throws(StoreError) in
            RedisArgument.bytes(Array(try member.bytes()))
        }
        if !members.isEmpty { try await run("ZREM", set, members) }
        return members.count
    }
}
