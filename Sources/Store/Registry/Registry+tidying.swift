public import LiveActivity
import Redis

extension Registry {
    /// Looks at the next names of an app's list, in byte order, and removes those of which nothing exists, as a list
    /// call does. Several workers may do so at once, because each begins at another place.
    ///
    /// - Parameter cursor: where the last call ended; nil begins at a random name.
    /// - Returns: where to continue, empty for the beginning, and how many names were removed.
    public func tidyNames(
        _ app: AppKey, after cursor: [UInt8]?, limit: Int
    ) async throws(StoreError) -> (next: [UInt8], removed: Int) {
        let index = RedisArgument.string(keys.names(app))
        var lower = Array("-".utf8)
        if let cursor {
            if !cursor.isEmpty { lower = Array("(".utf8) + cursor }
        } else {
            let any = try await redis.run([RedisCommand("ZRANDMEMBER", [index])])[0]
            if any.isNil { return ([], 0) }
            lower = try redisErrors { () throws(RedisError) in Array("[".utf8) + Array(try any.bytes()) }
        }
        let reply = try await redis.run([
            RedisCommand("ZRANGEBYLEX", [index, .bytes(lower), "+", "LIMIT", "0", .int(limit)])
        ])[0]
        let (names, unreadable) = try redisErrors { () throws(RedisError) in try reply.names() }
        if !unreadable.isEmpty { _ = try await redis.run([RedisCommand("ZREM", [index] + unreadable)]) }
        let gone = try await forgetGone(app, names)
        let last = try redisErrors { () throws(RedisError) in
            reply.count < limit ? [] : Array(try reply[reply.count - 1].bytes())
        }
        return (last, gone.count + unreadable.count)
    }
}
