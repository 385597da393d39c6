public import LiveActivity
import Redis

/// The quarantined tokens of one name.
public struct QuarantinedName: Sendable, Hashable {
    public var name: ActivityName
    public var tokens: Int
    /// The earliest among those looked at, epoch ms.
    public var since: Int64
    /// APNs's words, among those looked at.
    public var reasons: [String]
}

/// What became of tokens that an operator let go of.
public struct QuarantineResult: Sendable, Hashable {
    public var names = 0
    /// They are sent to again.
    public var released = 0
    public var pruned = 0
    /// The channel has another token by now.
    public var newer = 0
    /// The channel no longer follows the name.
    public var gone = 0
}

/// Tokens that the prune guard holds back: they stay registered and are not sent to, until an operator releases them (they
/// are sent to again) or discards them (they are pruned), their channel registers another token, or the mark expires.
public struct Quarantine: Sendable {
    /// Of the marks after the latest of their name: as long as the registry keeps what is not renewed.
    static func life(_ name: ActivityName) -> Duration { .milliseconds(RegistryRecord.span(name).retention) }
    /// Marks read in one round trip.
    private static let batch = 1_000

    let redis: RedisClient
    let keys: Keyspace
    let registry: Registry
    let alarms: Alarms
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    /// Puts a name on the app's list. Before its tokens are marked, so that a death in between leaves a listed name without
    /// marks, which a list drops; and after it, since an operator may have let go of the name in between.
    public func enlist(_ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        _ = try await redis.run([
            RedisCommand(
                "ZADD",
                [
                    .string(keys.quarantinedNames(app)), .int(clock() + Self.life(name).milliseconds),
                    .string(name.rawValue),
                ])
        ])
    }

    /// Marks start tokens where they are registered, which is not on the slot of the push that met them: before their removals
    /// are struck off, so that a death in between leaves marks, and removals to be decided about once more.
    public func hold(
        _ app: AppKey, _ starts: ActivityName, _ marks: [(channel: [UInt8], mark: QuarantineMark)]
    ) async throws(StoreError) {
        if marks.isEmpty { return }
        let key = RedisArgument.string(keys.quarantine(keys.tag(app, starts)))
        _ = try await redis.run([
            RedisCommand("HSET", [key] + marks.flatMap { [.bytes($0.channel), .bytes($0.mark.storedValue)] }),
            RedisCommand("PEXPIRE", [key, .int(Self.life(starts).milliseconds)]),
        ])
    }

    /// Forgets marks of tokens that their channels do not have any more.
    public func forget(
        _ app: AppKey, _ name: ActivityName, _ outdated: [(channel: [UInt8], mark: QuarantineMark)]
    ) async throws(StoreError) {
        if outdated.isEmpty { return }
        let seen = outdated.flatMap { [RedisArgument.bytes($0.channel), .bytes($0.mark.storedValue)] }
        let key = RedisArgument.string(keys.quarantine(keys.tag(app, name)))
        let reply = try await redis.run([RedisCommand(Lua.quarantineForget, keys: [key], arguments: seen)])[0]
        if try redisErrors({ () throws(RedisError) in try reply.integer() == 0 }) { try await strike(app, name) }
    }

    /// How many names hold quarantined tokens.
    public func count(_ app: AppKey) async throws(StoreError) -> Int {
        let reply = try await redis.run([
            RedisCommand("ZCOUNT", [.string(keys.quarantinedNames(app)), .string("(\(clock())"), "+inf"])
        ])[0]
        return try redisErrors { () throws(RedisError) in try reply.integer() }
    }

    /// Names that hold quarantined tokens, in the order of their latest quarantine; at most `limit`.
    public func list(_ app: AppKey, limit: Int) async throws(StoreError) -> [QuarantinedName] {
        var found: [QuarantinedName] = []
        var position = 0
        while found.count < limit {
            let names = try await names(app, from: position, limit: min(limit - found.count, 100))
            if names.isEmpty { break }
            for name in names {
                if let listed = try await look(app, name) { found.append(listed) } else { try await strike(app, name) }
            }
            position = found.count
        }
        return found
    }

    /// Forgets the marks: the tokens are sent to again by the next push. `name` nil: of every name.
    public func release(_ app: AppKey, _ name: ActivityName?) async throws(StoreError) -> QuarantineResult {
        try await letGo(app, name) { name, result async throws(StoreError) in
            let key = RedisArgument.string(keys.quarantine(keys.tag(app, name)))
            let replies = try await redis.run([RedisCommand("HLEN", [key]), RedisCommand("UNLINK", [key])])
            result.released += try redisErrors { () throws(RedisError) in try replies[0].integer() }
        }
    }

    /// Prunes the tokens, each only if its channel still has that very token. `name` nil: of every name. Repeatable: what a
    /// death in between leaves marked is discarded by the next call.
    public func discard(_ app: AppKey, _ name: ActivityName?) async throws(StoreError) -> QuarantineResult {
        try await letGo(app, name) { name, result async throws(StoreError) in
            let key = RedisArgument.string(keys.quarantine(keys.tag(app, name)))
            var cursor = "0"
            repeat {
                let (next, marks, unreadable) = try await scan(key, from: cursor)
                cursor = next
                let prunes = marks.map { Prune(channel: $0.channel, token: $0.mark.token, deadSince: nil) }
                for pruned in try await registry.prune(app, name, prunes) {
                    switch pruned {
                    case .pruned: result.pruned += 1
                    case .newer: result.newer += 1
                    case .gone: result.gone += 1
                    }
                }
                let seen =
                    marks.flatMap { [RedisArgument.bytes($0.channel), .bytes($0.mark.storedValue)] } + unreadable
                if !seen.isEmpty {
                    _ = try await redis.run([RedisCommand(Lua.quarantineForget, keys: [key], arguments: seen)])
                }
            } while cursor != "0"
        }
    }

    private func letGo(
        _ app: AppKey, _ name: ActivityName?,
        _ body: (ActivityName, inout QuarantineResult) async throws(StoreError) -> Void
    ) async throws(StoreError) -> QuarantineResult {
        var result = QuarantineResult()
        func take(_ name: ActivityName) async throws(StoreError) {
            let before = result
            try await body(name, &result)
            try await strike(app, name)
            if result != before { result.names += 1 }
        }
        if let name {
            try await take(name)
        } else {
            // Each name once: one that is quarantined again meanwhile has news of its own.
            for name in try await names(app, from: 0, limit: 1_000_000) { try await take(name) }
        }
        if try await count(app) == 0 { try await alarms.clear(app, .pruneGuard) }
        return result
    }

    /// In the order of their latest quarantine; those whose marks have expired are dropped.
    private func names(_ app: AppKey, from: Int, limit: Int) async throws(StoreError) -> [ActivityName] {
        let index = RedisArgument.string(keys.quarantinedNames(app))
        _ = try await tidy(app, limit: 500)
        let living = RedisArgument.string("(\(clock())")
        let replies = try await redis.run([
            RedisCommand("ZRANGEBYSCORE", [index, living, "+inf", "LIMIT", .int(from), .int(limit)])
        ])
        let names = try redisErrors { () throws(RedisError) in
            try replies[0].array().map { (reply) throws(RedisError) in try reply.string() }
        }
        return names.compactMap { try? ActivityName(stored: $0) }
    }

    /// Takes names off the list whose marks have expired, at most `limit`; returns how many.
    public func tidy(_ app: AppKey, limit: Int) async throws(StoreError) -> Int {
        try await redis.removeOver(.string(keys.quarantinedNames(app)), upTo: clock(), limit: limit)
    }

    /// Takes a name off the list, unless a worker has quarantined more of it meanwhile.
    private func strike(_ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        let marks = RedisArgument.string(keys.quarantine(keys.tag(app, name)))
        let replies = try await redis.run(
            [
                RedisCommand("ZREM", [.string(keys.quarantinedNames(app)), .string(name.rawValue)]),
                RedisCommand("EXISTS", [marks]),
            ], inStepsAt: [1])
        let isBack = try redisErrors { () throws(RedisError) in try replies[1].integer() == 1 }
        if isBack { try await enlist(app, name) }
    }

    /// Nil when nothing is quarantined under the name.
    private func look(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> QuarantinedName? {
        let key = RedisArgument.string(keys.quarantine(keys.tag(app, name)))
        let length = try await redis.run([RedisCommand("HLEN", [key])])[0]
        let tokens = try redisErrors { () throws(RedisError) in try length.integer() }
        if tokens == 0 { return nil }
        let (_, marks, _) = try await scan(key, from: "0")
        return QuarantinedName(
            name: name, tokens: tokens, since: marks.map(\.mark.since).min() ?? clock(),
            reasons: Set(marks.map(\.mark.reason)).sorted())
    }

    /// Some of a name's marks; fields that hold none come back as arguments for `quarantine-forget`.
    private func scan(
        _ key: RedisArgument, from cursor: String
    ) async throws(StoreError) -> (next: String, marks: [(channel: [UInt8], mark: QuarantineMark)], [RedisArgument]) {
        let reply = try await redis.run([
            RedisCommand("HSCAN", [key, .string(cursor), "COUNT", .int(Self.batch)])
        ])[0]
        return try redisErrors { () throws(RedisError) in
            let items = try reply[1].array()
            var marks: [(channel: [UInt8], mark: QuarantineMark)] = []
            var unreadable: [RedisArgument] = []
            for index in stride(from: 0, to: items.count - 1, by: 2) {
                let channel = Array(try items[index].bytes())
                let value = try items[index + 1].bytes()
                if let mark = QuarantineMark(storedValue: value) {
                    marks.append((channel, mark))
                } else {
                    unreadable += [.bytes(channel), .bytes(Array(value))]
                }
            }
            return (try reply[0].string(), marks, unreadable)
        }
    }
}
