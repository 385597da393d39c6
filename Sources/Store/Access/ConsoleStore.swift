public import LiveActivity
import OpenSSL
import Redis

/// The console's records in Redis, so that every gateway behind a balancer knows them.
public struct ConsoleStore: Sendable {
    let redis: RedisClient
    let keys: Keyspace
    /// The most templates of an app.
    public let mostTemplates = 100

    /// Keeps a session under the digest of its id, so that a reader of Redis cannot use it.
    public func begin(_ session: String, _ record: [UInt8], life: Duration) async throws(StoreError) {
        try await redis.run("SET", key(session), .bytes(record), "PX", .int(life.milliseconds))
    }

    /// - Parameter life: of a session. One that seems to last longer is cut to it: Redis keeps its end as a time, and
    ///   its clock was set back.
    public func session(_ session: String, life: Duration) async throws(StoreError) -> [UInt8]? {
        let key = key(session)
        let (record, left) = try await redis.run([RedisCommand("GET", key), RedisCommand("PTTL", key)])
            .values(.optionalBytes("session"), .integer("life"))
        if left > life.milliseconds { try await redis.run("PEXPIRE", key, .int(life.milliseconds)) }
        return record.map { Array($0) }
    }

    public func end(_ session: String) async throws(StoreError) { try await redis.run("DEL", key(session)) }

    /// Counts a sign-in before its secret is checked, so that guesses at the same moment are all counted.
    /// - Parameter subject: from where, and for which app key.
    /// - Returns: the attempts within `span` with this one, and the milliseconds until they are forgotten.
    public func attempt(_ subject: String, span: Duration) async throws(StoreError) -> (count: Int, left: Int) {
        let key = attemptsKey(subject)
        let (_, count, left) = try await redis.atOnce([
            RedisCommand("SET", key, ["0", "PX", .int(span.milliseconds), "NX"]), RedisCommand("INCR", key, []),
            RedisCommand("PTTL", key, []),
        ]).values(.any("SET"), .integer("attempts"), .integer("life"))
        // Redis keeps the end of the span as a time, and its clock was set back.
        if left > span.milliseconds {
            try await redis.run("PEXPIRE", key, .int(span.milliseconds))
        }
        return (count, min(max(0, left), Int(span.milliseconds)))
    }

    /// Takes back an attempt that was right. Wrong attempts stay: the holder of one secret could otherwise go on
    /// guessing another one.
    public func succeed(_ subject: String, span: Duration) async throws(StoreError) {
        let key = attemptsKey(subject)
        _ = try await redis.atOnce([
            RedisCommand("SET", key, ["1", "PX", .int(span.milliseconds), "NX"]),
            RedisCommand("INCRBY", key, [.int(-1)]),
        ])
    }

    /// Templates by title, in byte order.
    public func templates(_ app: AppKey) async throws(StoreError) -> [(title: String, body: [UInt8])] {
        var found: [(title: String, body: [UInt8])] = []
        for (title, body) in try await redis.run("HGETALL", keys.consoleTemplates(app)).pairs() {
            found.append((try title.string(), Array(try body.bytes())))
        }
        return found.sorted { $0.title.utf8.lexicographicallyPrecedes($1.title.utf8) }
    }

    /// - Returns: false if the app has as many templates as it may have.
    public func keep(_ app: AppKey, template title: String, _ body: [UInt8]) async throws(StoreError) -> Bool {
        let key = keys.consoleTemplates(app)
        let isKnown = try await redis.run("HEXISTS", key, .string(title)).isOne()
        if !isKnown, try await redis.run("HLEN", key).integer() >= mostTemplates { return false }
        try await redis.run("HSET", key, .string(title), .bytes(body))
        return true
    }

    public func drop(_ app: AppKey, template title: String) async throws(StoreError) {
        try await redis.run("HDEL", keys.consoleTemplates(app), .string(title))
    }

    private func key(_ session: String) -> RedisKey { keys.consoleSession(Self.digest(session)) }
    private func attemptsKey(_ subject: String) -> RedisKey { keys.consoleAttempts(Self.digest(subject)) }
    static func digest(_ text: String) -> String { Hex.encode(SHA256Digest(of: text.utf8)) }
}
