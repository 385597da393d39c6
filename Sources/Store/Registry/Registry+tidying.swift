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
        let index = keys.names(app)
        var lower = Array("-".utf8)
        if let cursor {
            if !cursor.isEmpty { lower = Array("(".utf8) + cursor }
        } else {
            let any = try await redis.run("ZRANDMEMBER", index)
            if any.isNil { return ([], 0) }
            lower = Array("[".utf8) + Array(try any.bytes())
        }
        let reply = try await redis.run("ZRANGEBYLEX", index, .bytes(lower), "+", "LIMIT", "0", .int(limit))
        let (names, unreadable) = try reply.names()
        if !unreadable.isEmpty { try await redis.run("ZREM", index, unreadable) }
        let gone = try await forgetGone(app, names)
        let last = reply.count < limit ? [] : Array(try reply[reply.count - 1].bytes())
        return (last, gone.count + unreadable.count)
    }
}
