public import LiveActivity
package import Redis
public import StoreGround

public struct ActivityInfo: Sendable, Hashable {
    public var name: ActivityName
    public var tokens: Int
    public var buckets: Int
    public var lastPushID: PushID?
    public var ended: Bool
    /// The type that was set for the name, or that of its last start.
    public var attributesType: String?
    /// When cards of the name are ended automatically, epoch ms; nil: no end is due.
    public var automaticEndAt: Int64?
}

extension Registry {
    /// How many buckets the tokens fill: 0 without tokens, 1 up to about 128 tokens, then one for about 90 tokens.
    public func buckets(_ app: AppKey, _ tokens: TokenPlace) async throws(StoreError) -> Int {
        try await state(placeKeys(app, tokens)).buckets
    }

    /// Nil for a name that no channel follows and that had no publish. Counts the tokens by reading all of them.
    public func info(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> ActivityInfo? {
        let state = try await state(placeKeys(app, .activity(name)))
        let tokens = state.buckets == 0 ? 0 : try await count(app, .activity(name)).tokens
        guard tokens > 0 || state.hasMeta else { return nil }
        var info = ActivityInfo(
            name: name, tokens: tokens, buckets: tokens == 0 ? 0 : state.buckets, lastPushID: state.lastPushID,
            ended: state.ended, attributesType: state.type)
        let due = try await redis.run("ZSCORE", keys.ends(app), .string(name.rawValue))
        info.automaticEndAt = due.isNil ? nil : try due.optionalTime()
        return info
    }

    /// Counts the start tokens of an attributes type by reading them; `stale`: last reported before `time` (epoch ms).
    public func startTokens(
        _ app: AppKey, _ attributesType: String, reportedBefore time: Int64
    ) async throws(StoreError) -> (tokens: Int, stale: Int, buckets: Int) {
        let place = TokenPlace.startTokens(of: attributesType)
        let buckets = try await buckets(app, place)
        let (tokens, stale) = buckets == 0 ? (0, 0) : try await count(app, place, reportedBefore: time)
        return (tokens, stale, tokens == 0 ? 0 : buckets)
    }

    private func count(
        _ app: AppKey, _ tokens: TokenPlace, reportedBefore time: Int64 = 0
    ) async throws(StoreError) -> (tokens: Int, stale: Int) {
        var (count, stale) = (0, 0)
        var position = ScanPosition.start
        while position < .end {
            let (page, next) = try await page(app, tokens, from: position, to: .end, limit: 2_000)
            count += page.count
            stale += page.entries.count { $0.registeredAt < time }
            position = next
        }
        return (count, stale)
    }

    private func state(
        _ place: PlaceKeys
    ) async throws(StoreError) -> (buckets: Int, hasMeta: Bool, lastPushID: PushID?, ended: Bool, type: String?) {
        let (root, meta) = (keys.root(place.tag), keys.name(place.tag))
        let replies = try await redis.replies([
            RedisCommand("HGET", root, "n"), RedisCommand("EXISTS", root), RedisCommand("EXISTS", meta),
            RedisCommand("HMGET", meta, "last", "ended", "type"),
        ])
        let count = try bucketCount(replies[0])
        if count != memory.count(place.key) { memory.remember(place.key, count) }
        let (exists, hasMeta) = (try replies[1].isOne(), try replies[2].isOne())
        let fields = try replies[3].array()
        guard fields.count == 3 else { throw .unexpectedReply("HMGET of three fields gave \(fields.count)") }
        let last = fields[0].isNil ? nil : PushID(try fields[0].string())
        let type = try fields[2].optionalString()
        return (exists ? count.buckets : 0, hasMeta, last, !fields[1].isNil, type)
    }

    /// Names behind `after` with tokens or a publish, in byte order. Those of several buckets stay until they expire.
    public func names(
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

    /// The names among members of the list that have tokens or a publish. Those that are gone leave the list.
    package func present(_ app: AppKey, _ members: [[UInt8]]) async throws(StoreError) -> [ActivityName] {
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

    /// Puts the name into its app's index after its tokens. After a crash in between, the caller repeats the call.
    /// - Parameter endDue: when the first of these cards is to be ended (epoch ms). It is noted for every stored
    ///   registration, because a repeated one begins no card.
    /// - Parameter isNew: the name's root is new. Since this process put the name in, another one may have taken it out
    ///   of the index, or Redis may have lost it.
    package func enlist(
        _ place: PlaceKeys, now: Int64, endDue: Int64? = nil, isNew: Bool = false
    ) async throws(StoreError) {
        guard case .activity(let name) = place.key.tokens else { return }
        let app = place.key.app
        let isUnlisted = isNew || memory.needsListing(place.key, now: now)
        let commands =
            (isUnlisted ? [listing(app, [name])] : [])
            + (endDue.map { [ending(app, [(name, $0)])] } ?? [])
        if commands.isEmpty { return }
        let measure = isUnlisted ? quotas.countNames(app, now: now) : Quotas.Count()
        let replies = try await redis.run(commands + measure.commands)
        quotas.note(.names, app, measure, replies.dropFirst(commands.count))
        if isUnlisted { memory.listed(place.key, at: now) }
    }

    private func listing(_ app: AppKey, _ names: [ActivityName]) -> RedisCommand {
        RedisCommand("ZADD", keys.names(app), names.flatMap { ["0", .string($0.rawValue)] })
    }

    /// Puts names into the timer of automatic ends. A name that is there with an earlier time keeps that time.
    package func ending(_ app: AppKey, _ names: [(ActivityName, due: Int64)]) -> RedisCommand {
        RedisCommand("ZADD", keys.ends(app), ["LT"] + names.flatMap { [.int($0.due), .string($0.0.rawValue)] })
    }

    /// Removes names from the index. A name that came back is seen here after the removal, or its listing comes later.
    private func forget(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) {
        guard !names.isEmpty else { return }
        names.forEach { memory.forgetListing(RegistryMemory.Key(app: app, tokens: .activity($0))) }
        _ = try await redis.run("ZREM", keys.names(app), names.map { .string($0.rawValue) }).integer()
        let back = try await zip(names, presences(app, names)).filter { $0.1 != .gone }.map(\.0)
        if !back.isEmpty { try await redis.run([listing(app, back)]) }
    }

    /// Removes names of which nothing exists from the next part of an app's list. Several workers may do so at once.
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
        let gone = try await zip(names, presences(app, names)).filter { $0.1 == .gone }.map(\.0)
        try await forget(app, gone)
        let last = reply.count < limit ? [] : Array(try reply[reply.count - 1].bytes())
        return (last, gone.count + unreadable.count)
    }
}
