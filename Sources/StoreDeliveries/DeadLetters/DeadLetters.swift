public import LiveActivity
package import Redis
public import StoreGround

/// The tokens that one push gave up: their attempts were used up, or they were not sent because the push was stopped.
public struct DeadLetter: Sendable, Hashable {
    public var push: PushID
    public var name: ActivityName
    /// When it last gave up a token, epoch milliseconds.
    public var at: Int64
    /// Why the push was stopped early; nil if it was not.
    public var stopped: String?
    /// Tokens given up, by the last reason from APNs or the connection.
    public var reasons: [String: Int]
    /// How many of their channels are kept for a retry.
    public var kept: Int
    /// How many are not kept, because a dead letter keeps the first 100,000 channels.
    public var notKept = 0
    public var tokens: Int { reasons.values.reduce(0, +) }
}

/// The result of an operator's retry.
public enum DeadRetry: Sendable, Hashable {
    /// This many tokens wait for another attempt. `isResumed`: the sweep goes on where it was stopped.
    case taken(tokens: Int, isResumed: Bool)
    /// A newer push of the name has begun, so this one's state is out of date.
    case newer(PushID?)
    case expired
    /// The push was cancelled, or has not finished yet.
    case notFinished
    /// The push has no dead letter.
    case none
}

/// The dead letters of each app. An operator can read, retry or drop them.
public struct DeadLetters: Sendable {
    /// Channels that are kept of one push. The others are only counted. A push that is stopped gives up what is in
    /// flight: for ten workers with ten connections of a thousand requests this many.
    static let mostChannels = ScriptNumbers.deadLetterChannels
    /// The most channels that are kept of the pruned channels of a push.
    static let mostPruned = 1_000
    /// An entry may get its record within this many milliseconds, because the index is written first.
    private static let grace: Int64 = 60_000

    package let redis: RedisClient
    package let keys: Keyspace
    package let pushes: Pushes
    package let queue: WorkQueue
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64

    package init(
        redis: RedisClient, keys: Keyspace, pushes: Pushes, queue: WorkQueue, clock: @escaping @Sendable () -> Int64
    ) {
        self.redis = redis
        self.keys = keys
        self.pushes = pushes
        self.queue = queue
        self.clock = clock
    }

    /// Puts pushes on the app's list. Call it before the settlement that gives tokens up. A crash in between leaves an
    /// entry without a record, which readers drop.
    public func enlist(_ app: AppKey, _ name: ActivityName, _ pushes: [PushID]) async throws(StoreError) {
        let now = RedisArgument.int(clock())
        try await redis.run(
            RedisCommand("ZADD", keys.deadIndex(app), pushes.flatMap { [now, .string(Self.member($0, name))] }))
    }

    /// Lists the name's pushes that a full retry queue gave up, and returns them. Their script cannot reach the list,
    /// so the worker that claims the name's retries calls this.
    public func enlistUnlisted(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> [PushID] {
        let key = keys.unlistedDead(keys.tag(app, name))
        let pushes = try await redis.run("SMEMBERS", key).strings().compactMap { PushID($0) }
        if pushes.isEmpty { return [] }
        try await enlist(app, name, pushes)
        // Remove only these, because another one may have been added meanwhile.
        try await redis.run(RedisCommand("SREM", key, pushes.map { .string($0.description) }))
        return pushes
    }

    /// How many pushes have a dead letter.
    /// - Parameter prefix: the beginning of the names; nil for all names
    public func count(_ app: AppKey, namesFrom prefix: String? = nil) async throws(StoreError) -> Int {
        let (index, since) = (keys.deadIndex(app), RedisArgument.string("(\(clock() - keys.retention)"))
        guard let prefix else { return try await redis.run("ZCOUNT", index, since, "+inf").integer() }
        let members = try await redis.run("ZRANGEBYSCORE", index, since, "+inf").strings()
        return members.count { Self.pushAndName($0)?.1.begins(with: prefix) ?? false }
    }

    /// Removes at most `limit` entries that are older than a dead letter lives. Returns how many were removed.
    public func tidy(_ app: AppKey, limit: Int) async throws(StoreError) -> Int {
        try await redis.removeOver(keys.deadIndex(app), upTo: clock() - keys.retention, limit: limit)
    }

    /// The dead letters, the latest first, from behind the push `after` on if it is still on the list.
    /// - Parameter prefix: the beginning of the names; nil for all names
    public func list(
        _ app: AppKey, namesFrom prefix: String? = nil, after: PushID?, limit: Int
    ) async throws(StoreError) -> [DeadLetter] {
        let index = keys.deadIndex(app)
        var position = 0
        if let after, let name = try await pushes.name(of: after, app), name.begins(with: prefix) {
            let rank = try await redis.run("ZREVRANK", index, .string(Self.member(after, name)))
            position = rank.isNil ? 0 : try rank.integer() + 1
        }
        _ = try await tidy(app, limit: 500)
        var found: [DeadLetter] = []
        while found.count < limit {
            let wanted = prefix == nil ? min(limit - found.count, 200) : 1_000
            let reply = try await redis.run(
                "ZREVRANGE", index, .int(position), .int(position + wanted - 1), "WITHSCORES")
            let members = try reply.pairs().map { member, score throws(StoreError) in
                (text: try member.string(), score: Int64(Double(try score.string()) ?? 0))
            }
            if members.isEmpty { break }
            position += members.count
            var dropped: [RedisArgument] = []
            for (member, score) in members {
                let place = Self.pushAndName(member)
                if let place, !place.1.begins(with: prefix) { continue }
                if let (push, name) = place, let letter = try await read(app, name, push) {
                    found.append(letter)
                    if found.count == limit { break }
                } else if score < clock() - Self.grace {
                    dropped.append(.string(member))
                }
            }
            if !dropped.isEmpty {
                try await redis.run("ZREM", index, dropped)
                position -= dropped.count
            }
        }
        return found
    }

    public func letter(_ app: AppKey, _ push: PushID) async throws(StoreError) -> DeadLetter? {
        guard let name = try await pushes.name(of: push, app) else { return nil }
        return try await read(app, name, push)
    }

    /// Removes what the push gave up, but not its ledger. Returns false if there was nothing.
    public func drop(_ app: AppKey, _ push: PushID) async throws(StoreError) -> Bool {
        guard let name = try await pushes.name(of: push, app) else { return false }
        let tag = keys.tag(app, name)
        let (removed, listed) = try await redis.run(
            [
                RedisCommand("UNLINK", keys.deadLetter(tag, push), .key(keys.deadChannels(tag, push))),
                RedisCommand("ZREM", keys.deadIndex(app), .string(Self.member(push, name))),
            ], inStepsAt: [1]
        ).values(.integer("UNLINK"), .integer("ZREM"))
        return removed + listed > 0
    }

    private func read(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) -> DeadLetter? {
        let tag = keys.tag(app, name)
        let (fields, kept) = try await redis.run([
            RedisCommand("HGETALL", keys.deadLetter(tag, push)), RedisCommand("HLEN", keys.deadChannels(tag, push)),
        ]).values(.hash("dead letter"), .integer("channels"))
        if fields.isEmpty { return nil }
        var reasons: [String: Int] = [:]
        for (field, value) in fields.pairs {
            if let reason = field.rest(behind: "r:") { reasons[reason] = Int(value) }
        }
        return DeadLetter(
            push: push, name: name, at: Int64(fields.number("at") ?? 0), stopped: fields.text("stop"),
            reasons: reasons, kept: kept, notKept: fields.number("over") ?? 0)
    }

    /// The id comes first, because a name may contain spaces.
    static func member(_ push: PushID, _ name: ActivityName) -> String { "\(push) \(name)" }

    package static func pushAndName(_ member: String) -> (PushID, ActivityName)? {
        guard let parts = member.cut(at: UInt8(ascii: " ")), let push = PushID(parts.head),
            let name = try? ActivityName(parts.tail)
        else { return nil }
        return (push, name)
    }
}
