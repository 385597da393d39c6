public import LiveActivity
package import Redis
public import StoreGround
package import StoreRegistry

/// The quarantined tokens of one name, or the quarantined start tokens of one attributes type.
public struct QuarantinedTokens: Sendable, Hashable {
    public var place: TokenPlace
    public var tokens: Int
    /// The earliest of the marks that were read, epoch ms.
    public var since: Int64
    /// APNs's reasons of the marks that were read.
    public var reasons: [String]
}

/// The result of a release or a discard.
public struct QuarantineResult: Sendable, Hashable {
    public var names = 0
    /// Tokens that get pushes again.
    public var released = 0
    public var pruned = 0
    /// The channel has another token by now.
    public var newer = 0
    /// The channel no longer follows the name.
    public var gone = 0
}

/// Tokens that the prune guard protects: they stay registered and get no pushes. This ends when an operator releases or
/// discards (prunes) them, when their channel registers another token, or when the mark expires.
public struct Quarantine: Sendable {
    /// How long marks live after the latest one of their name: as long as the registry keeps an unrenewed token.
    package static func life(_ place: TokenPlace) -> Duration { .milliseconds(place.lifetime.retention) }
    public typealias MarkedChannel = (channel: [UInt8], mark: QuarantineMark)
    /// Marks read in one round trip.
    private static let batch = 1_000

    package let redis: RedisClient
    package let keys: Keyspace
    package let registry: Registry
    package let alarms: Alarms
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64

    package init(
        redis: RedisClient, keys: Keyspace, registry: Registry, alarms: Alarms, clock: @escaping @Sendable () -> Int64
    ) {
        self.redis = redis
        self.keys = keys
        self.registry = registry
        self.alarms = alarms
        self.clock = clock
    }

    /// Puts a name on the app's list. Call it before the name's tokens are marked, because a list drops names without
    /// marks. Call it again afterwards, because an operator may have released the name in between.
    public func enlist(_ app: AppKey, _ place: TokenPlace) async throws(StoreError) {
        try await redis.run(
            "ZADD", keys.quarantinedNames(app), .int(clock() + Self.life(place).milliseconds), .string(place.stored))
    }

    /// Marks start tokens where they are registered, on another slot than the push. Call it before their removals are
    /// confirmed: after a crash in between, a worker decides about the removals again.
    public func hold(_ app: AppKey, _ starts: TokenPlace, _ marks: [MarkedChannel]) async throws(StoreError) {
        if marks.isEmpty { return }
        let key = keys.quarantine(keys.tag(app, starts))
        try await redis.run([
            RedisCommand("HSET", key, Self.arguments(marks)),
            RedisCommand("PEXPIRE", key, .int(starts.lifetime.retention)),
        ])
    }

    /// Removes marks of tokens that their channels do not have any more.
    public func forget(_ app: AppKey, _ place: TokenPlace, _ outdated: [MarkedChannel]) async throws(StoreError) {
        if outdated.isEmpty { return }
        let key = keys.quarantine(keys.tag(app, place))
        let reply = try await redis.run(Lua.quarantineForget, keys: ["x": key], rest: Self.arguments(outdated))
        if try reply.integer() == 0 { try await delist(app, place) }
    }

    /// How many names hold quarantined tokens.
    public func count(_ app: AppKey) async throws(StoreError) -> Int {
        try await redis.run("ZCOUNT", keys.quarantinedNames(app), .string("(\(clock())"), "+inf").integer()
    }

    /// Names that hold quarantined tokens, at most `limit`, in the order of their latest mark.
    public func list(_ app: AppKey, limit: Int) async throws(StoreError) -> [QuarantinedTokens] {
        var found: [QuarantinedTokens] = []
        var position = 0
        while found.count < limit {
            let places = try await places(app, from: position, limit: min(limit - found.count, 100))
            if places.isEmpty { break }
            for place in places {
                if let one = try await look(app, place) { found.append(one) } else { try await delist(app, place) }
            }
            position = found.count
        }
        return found
    }

    /// Removes the marks of one place, or of all (nil). The next push goes to the tokens again.
    public func release(_ app: AppKey, _ place: TokenPlace?) async throws(StoreError) -> QuarantineResult {
        try await endEach(app, place) { place, result async throws(StoreError) in
            let key = keys.quarantine(keys.tag(app, place))
            let (released, _) = try await redis.run([RedisCommand("HLEN", key), RedisCommand("UNLINK", key)])
                .values(.integer("tokens"), .any("UNLINK"))
            result.released += released
        }
    }

    /// Prunes the quarantined tokens of one place, or of all (nil), each only if its channel still has that token. The
    /// next call discards the marks that a crash leaves.
    public func discard(_ app: AppKey, _ place: TokenPlace?) async throws(StoreError) -> QuarantineResult {
        try await endEach(app, place) { place, result async throws(StoreError) in
            let key = keys.quarantine(keys.tag(app, place))
            try await redis.eachPart(ofHash: key, count: Self.batch, read: Self.mark) { marks throws(StoreError) in
                let prunes = marks.map { TokenRemoval(channel: $0.channel, token: $0.mark.token, deadSince: nil) }
                for pruned in try await registry.prune(app, place, prunes) {
                    switch pruned {
                    case .pruned: result.pruned += 1
                    case .newer: result.newer += 1
                    case .gone: result.gone += 1
                    }
                }
                try await redis.run(Lua.quarantineForget, keys: ["x": key], rest: Self.arguments(marks))
            }
        }
    }

    /// Ends the quarantine of one name or of all, with `body`, and takes the names off the list.
    private func endEach(
        _ app: AppKey, _ place: TokenPlace?,
        _ body: (TokenPlace, inout QuarantineResult) async throws(StoreError) -> Void
    ) async throws(StoreError) -> QuarantineResult {
        var result = QuarantineResult()
        func end(_ place: TokenPlace) async throws(StoreError) {
            let before = result
            try await body(place, &result)
            try await delist(app, place)
            if result != before { result.names += 1 }
        }
        if let place {
            try await end(place)
        } else {
            // Each name once. A name that is quarantined again meanwhile is a new case for the operator.
            for place in try await places(app, from: 0, limit: 1_000_000) { try await end(place) }
        }
        if try await count(app) == 0 {
            for platform in Platform.all { try await alarms.clear(AppPlatform(app, platform), .pruneGuard) }
        }
        return result
    }

    /// The names in the order of their latest mark. Names whose marks have expired are removed.
    private func places(_ app: AppKey, from: Int, limit: Int) async throws(StoreError) -> [TokenPlace] {
        let index = keys.quarantinedNames(app)
        _ = try await tidy(app, limit: 500)
        let living = RedisArgument.string("(\(clock())")
        let reply = try await redis.run("ZRANGEBYSCORE", index, living, "+inf", "LIMIT", .int(from), .int(limit))
        return try reply.strings().compactMap { try? TokenPlace(stored: $0) }
    }

    /// Removes at most `limit` names whose marks have expired from the list. Returns how many were removed.
    public func tidy(_ app: AppKey, limit: Int) async throws(StoreError) -> Int {
        try await redis.removeOver(keys.quarantinedNames(app), upTo: clock(), limit: limit)
    }

    /// Removes a name from the list, unless a worker has quarantined more of its tokens meanwhile.
    private func delist(_ app: AppKey, _ place: TokenPlace) async throws(StoreError) {
        let marks = keys.quarantine(keys.tag(app, place))
        let (_, hasMarks) = try await redis.run(
            [RedisCommand("ZREM", keys.quarantinedNames(app), .string(place.stored)), RedisCommand("EXISTS", marks)],
            inStepsAt: [1]
        ).values(.any("ZREM"), .flag("EXISTS"))
        if hasMarks { try await enlist(app, place) }
    }

    /// - Returns: nil if no token is quarantined under the name.
    private func look(_ app: AppKey, _ place: TokenPlace) async throws(StoreError) -> QuarantinedTokens? {
        let key = keys.quarantine(keys.tag(app, place))
        let tokens = try await redis.run("HLEN", key).integer()
        if tokens == 0 { return nil }
        let (_, some) = try await redis.run("HSCAN", key, "0", "COUNT", .int(Self.batch))
            .values(.any("cursor"), .any("marks"))
        let marks = try some.pairs().map { _, value throws(StoreError) in
            QuarantineMark(storedValue: try value.bytes())
        }
        .compactMap(\.self)
        return QuarantinedTokens(
            place: place, tokens: tokens, since: marks.map(\.since).min() ?? clock(),
            reasons: Set(marks.map(\.reason)).sorted())
    }

    private static func mark(_ channel: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> MarkedChannel? {
        QuarantineMark(storedValue: value).map { (Array(channel), $0) }
    }

    private static func arguments(_ marks: [MarkedChannel]) -> [RedisArgument] {
        marks.flatMap { [.bytes($0.channel), .bytes($0.mark.storedValue)] }
    }
}
