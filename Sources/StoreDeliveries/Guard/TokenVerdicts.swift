public import LiveActivity
package import Redis
public import StoreGround

/// Which of an app's verdicts are counted together.
public struct TokenVerdictSpan: Sendable, Hashable {
    /// How many minutes count, up to now.
    public var window: Int
    /// If the window holds fewer verdicts than `least`, the last `least` count, at most this many minutes old.
    public var memory: Int
    public var least: Int

    public init(window: Int, memory: Int, least: Int) {
        self.window = window
        self.memory = memory
        self.least = least
    }
}

/// The counts of the whole fleet.
public struct TokenVerdictSums: Sendable, Hashable {
    /// The app's verdicts in the window.
    public var app = TokenVerdictCounts()
    /// The app's last `TokenVerdictSpan.least` verdicts, or the verdicts in the window if they are more.
    public var lately = TokenVerdictCounts()
    public var pushes: [PushID: TokenVerdictCounts] = [:]
}

/// The verdicts on each app's tokens of a platform over the last minutes, counted by the whole fleet.
public struct TokenVerdicts: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace

    package init(redis: RedisClient, keys: Keyspace) {
        self.redis = redis
        self.keys = keys
    }

    /// Adds a worker's counts and returns the fleet's sums. A repeated call counts twice: the guard stops earlier then.
    /// - Parameters:
    ///   - counted: by age in minutes
    ///   - pushes: pushes of `name`; the platform's verdicts on each so far are returned too
    ///   - words: the platform's reasons that call a token wrong, and the reasons that call it dead; the ledger counts
    ///     them
    public func add(
        _ key: AppPlatform, _ counted: [(age: Int, counts: TokenVerdictCounts)], over span: TokenVerdictSpan,
        pushes: [PushID] = [], of name: ActivityName? = nil, _ words: (dead: [String], gone: [String]) = ([], [])
    ) async throws(StoreError) -> TokenVerdictSums {
        let count = RedisCommand(
            Lua.guardCount, keys: ["g": keys.verdicts(key)],
            ["window": .int(max(1, span.window)), "kept": .int(span.memory), "least": .int(span.least)],
            rest: counted.flatMap { [.int($0), .int($1.answers), .int($1.dead), .int($1.gone)] })
        // The ledger's fields that say whether a token is alive. The first platform has what the others leave of a sum.
        let others = (key.platform.countsApart ? [] : Platform.all.filter(\.countsApart)).map {
            Ledger.field("delivered", $0)
        }
        let fields = [Ledger.field("delivered", key.platform)] + others + (words.dead + words.gone).map { "e:\($0)" }
        let ledgers = name.map { name in
            pushes.map { RedisCommand("HMGET", keys.push(keys.tag(key.app, name), $0), fields.map { .string($0) }) }
        }
        var replies = try await redis.run([count] + (ledgers ?? []))[...]
        var counts = try ReplyValues(replies.removeFirst())
        var sums = TokenVerdictSums(app: try TokenVerdictCounts(&counts), lately: try TokenVerdictCounts(&counts))
        for (push, reply) in zip(pushes, replies) {
            var values = try ReplyValues(reply)
            func sum(_ fields: [String]) throws(StoreError) -> Int {
                var sum = 0
                for field in fields { sum += try values.next(.optionalNumber(field)) ?? 0 }
                return sum
            }
            let sent = try values.next(.optionalNumber("delivered")) ?? 0
            let elsewhere = try sum(others)
            let (dead, gone) = (try sum(words.dead), try sum(words.gone))
            sums.pushes[push] = TokenVerdictCounts(
                answers: max(0, sent - elsewhere) + dead + gone, dead: dead, gone: gone)
        }
        return sums
    }
}

/// A platform's verdicts on tokens: alive (200) or dead. Other answers say nothing about a token.
public struct TokenVerdictCounts: Sendable, Hashable {
    public var answers: Int
    /// Wrong for the app: of APNs 400 BadDeviceToken and DeviceTokenNotForTopic.
    public var dead: Int
    /// Verdicts of a dead token: on APNs, 410 Unregistered and ExpiredToken.
    public var gone: Int

    public init(answers: Int = 0, dead: Int = 0, gone: Int = 0) {
        self.answers = answers
        self.dead = dead
        self.gone = gone
    }

    fileprivate init(_ values: inout ReplyValues) throws(StoreError) {
        answers = try values.next(.integer("answers"))
        dead = try values.next(.integer("dead by a 400"))
        gone = try values.next(.integer("dead by a 410"))
    }

    public static func += (sum: inout TokenVerdictCounts, other: TokenVerdictCounts) {
        sum.answers += other.answers
        sum.dead += other.dead
        sum.gone += other.gone
    }
}
