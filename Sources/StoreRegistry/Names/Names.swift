public import LiveActivity
package import Redis
public import StoreGround

public struct ActivityInfo: Sendable, Hashable {
    public var name: ActivityName
    public var tokens: Int
    public var buckets: Int
    public var lastPushID: PushID?
    public var ended: Bool
    /// The type that was set for the name, or the type of its last start.
    public var attributesType: String?
    /// When cards of the name are ended automatically, epoch ms; nil: no end is due.
    public var automaticEndAt: Int64?
}

/// The names of an app: the index of them, and what is known of each.
public struct Names: Sendable {
    let tokens: Tokens
    var redis: RedisClient { tokens.redis }
    var keys: Keyspace { tokens.keys }
    var memory: RegistryMemory { tokens.buckets.memory }

    package init(_ tokens: Tokens) { self.tokens = tokens }

    /// Nil for a name that no channel follows and that had no publish. Counts the tokens by reading all of them.
    public func info(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> ActivityInfo? {
        let place = keys.place(app, .activity(name))
        let meta = keys.name(place.tag)
        let (buckets, replies) = try await tokens.bucketCount(
            place, and: [RedisCommand("EXISTS", meta), RedisCommand("HMGET", meta, "last", "ended", "type")])
        let (hasMeta, fields) = try replies.values(.flag("EXISTS"), .any("name"))
        let (last, ended, type) = try fields.values(.push("last"), .any("ended"), .optionalString("type"))
        let count = buckets == 0 ? 0 : try await tokens.count(app, .activity(name)).tokens
        guard count > 0 || hasMeta else { return nil }
        var info = ActivityInfo(
            name: name, tokens: count, buckets: count == 0 ? 0 : buckets,
            lastPushID: last, ended: !ended.isNil, attributesType: type)
        let due = try await redis.run("ZSCORE", keys.ends(app), .string(name.rawValue))
        info.automaticEndAt = due.isNil ? nil : try due.optionalTime()
        return info
    }

    /// Names behind `after` with tokens or a publish, in byte order. Names of several buckets stay until they expire.
    public func page(
        _ app: AppKey, prefix: String, after: String?, limit: Int
    ) async throws(StoreError) -> [ActivityName] {
        var found: [ActivityName] = []
        var cursor = after.map { Array($0.utf8) }
        while found.count < limit {
            let wanted = min(limit - found.count, 500)
            let members = try await listed(app, prefix: prefix, after: cursor, limit: wanted)
            guard let last = members.last else { break }
            cursor = last
            found += try await present(app, members)
            if members.count < wanted { break }
        }
        return found
    }

    /// The next part of the app's list of names, in byte order, as it is.
    package func listed(
        _ app: AppKey, prefix: String, after cursor: [UInt8]?, limit: Int
    ) async throws(StoreError) -> [[UInt8]] {
        // No byte of UTF-8 is 0xFF.
        let upper: RedisArgument = prefix.isEmpty ? "+" : .bytes(Array("[\(prefix)".utf8) + [0xFF])
        var lower = Array("[\(prefix)".utf8)
        if let cursor, !cursor.lexicographicallyPrecedes(prefix.utf8) { lower = Array("(".utf8) + cursor }
        if lower == [UInt8(ascii: "[")] { lower = Array("-".utf8) }
        return try await redis.run(
            "ZRANGEBYLEX", keys.names(app), .bytes(lower), upper, "LIMIT", "0", .int(limit)
        ).byteStrings()
    }

    /// The names among members of the list that have tokens or a publish. Names that are gone leave the list.
    func present(_ app: AppKey, _ members: [[UInt8]]) async throws(StoreError) -> [ActivityName] {
        let names = members.compactMap { String(validating: $0, as: UTF8.self).flatMap { try? ActivityName($0) } }
        let presences = try await presences(app, names)
        try await forget(app, zip(names, presences).filter { $0.1 == .gone }.map(\.0))
        return zip(names, presences).filter { $0.1 == .listed }.map(\.0)
    }

    /// The state of a name in Redis (`registry-alive`).
    private enum Presence: Int { case gone, listed, tombstones }

    private func presences(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [Presence] {
        guard !names.isEmpty else { return [] }
        let replies = try await redis.replies(
            names.map { name in
                let tag = keys.tag(app, name)
                return RedisCommand(Lua.registryAlive, keys: ["b": keys.root(tag), "n": keys.name(tag)])
            })
        return try replies.map { (reply) throws(StoreError) in Presence(rawValue: try reply.integer()) ?? .listed }
    }

    static func listing(_ keys: Keyspace, _ app: AppKey, _ names: [ActivityName]) -> RedisCommand {
        RedisCommand("ZADD", keys.names(app), names.flatMap { ["0", .string($0.rawValue)] })
    }

    /// Puts names into the timer of automatic ends. A name that is there with an earlier time keeps that time.
    package static func ending(_ keys: Keyspace, _ app: AppKey, _ names: [(ActivityName, due: Int64)]) -> RedisCommand {
        RedisCommand("ZADD", keys.ends(app), ["LT"] + names.flatMap { [.int($0.due), .string($0.0.rawValue)] })
    }

    /// Removes names from the index. A name that came back is seen here after the removal, or its listing comes later.
    private func forget(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) {
        guard !names.isEmpty else { return }
        names.forEach { memory.forgetListing(RegistryMemory.Key(app: app, tokens: .activity($0))) }
        _ = try await redis.run("ZREM", keys.names(app), names.map { .string($0.rawValue) }).integer()
        let back = try await zip(names, presences(app, names)).filter { $0.1 != .gone }.map(\.0)
        if !back.isEmpty { try await redis.run([Self.listing(keys, app, back)]) }
    }

    /// Removes names of which nothing exists from the next part of an app's list. Several workers may do so at once.
    /// - Parameter cursor: where the last call ended; nil begins at a random name.
    /// - Returns: where to continue, empty for the beginning, and how many names were removed.
    public func tidy(
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
        let gone = try await zip(names, presences(app, names)).filter { $0.1 == .gone }.map(\.0)
        try await forget(app, gone)
        let last = reply.count < limit ? [] : Array(try reply[reply.count - 1].bytes())
        return (last, gone.count + unreadable.count)
    }
}
