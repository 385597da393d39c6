public import LiveActivity
import Redis

/// Pushes that people have begun to write in the console, and alarms that they know of.
extension ConsoleStore {
    static let recordLife: Duration = .seconds(7 * 86_400)
    /// As long as an `Idempotency-Key` counts.
    static let dueLife: Duration = .seconds(24 * 3_600)

    public func draft(_ app: AppKey, of credential: String, _ id: String) async throws(StoreError) -> [UInt8]? {
        try await redis.run("HGET", keys.consoleDrafts(app, credential), .string(id)).optionalBytes().map { Array($0) }
    }

    /// The entries of the list of drafts.
    public func draftTitles(
        _ app: AppKey, of credential: String
    ) async throws(StoreError) -> [(id: String, body: [UInt8])] {
        var found: [(id: String, body: [UInt8])] = []
        for (id, body) in try await redis.run("HGETALL", keys.consoleDraftTitles(app, credential)).pairs() {
            found.append((try id.string(), Array(try body.bytes())))
        }
        return found
    }

    /// - Parameters:
    ///   - title: its entry in the list of drafts
    ///   - other: gives way if there are too many
    public func keep(
        _ app: AppKey, of credential: String, draft id: String, _ body: [UInt8], title: [UInt8],
        insteadOf other: String? = nil
    ) async throws(StoreError) {
        if let other { try await drop(app, of: credential, draft: other) }
        try await put(keys.consoleDrafts(app, credential), id, body)
        try await put(keys.consoleDraftTitles(app, credential), id, title)
    }

    /// Writes a record, and begins the life of all records of the key anew.
    private func put(_ key: RedisKey, _ field: String, _ record: [UInt8]) async throws(StoreError) {
        _ = try await redis.atOnce([
            RedisCommand("HSET", key, [.string(field), .bytes(record)]),
            RedisCommand("PEXPIRE", key, [.int(Self.recordLife.milliseconds)]),
        ])
    }

    public func drop(_ app: AppKey, of credential: String, draft id: String) async throws(StoreError) {
        _ = try await redis.atOnce([
            RedisCommand("HDEL", keys.consoleDrafts(app, credential), [.string(id)]),
            RedisCommand("HDEL", keys.consoleDraftTitles(app, credential), [.string(id)]),
        ])
    }

    /// The time at which the publish with this key goes out, epoch ms. The first click decides the time.
    public func due(_ publish: String, at time: Int64) async throws(StoreError) -> Int64 {
        let key = keys.consoleDue(Self.digest(publish))
        let (_, due) = try await redis.atOnce([
            RedisCommand("SET", key, [.int(time), "PX", .int(Self.dueLife.milliseconds), "NX"]),
            RedisCommand("GET", key, []),
        ]).values(.any("SET"), .time("due"))
        return due
    }

    /// The records of alarms that somebody knows of, by `Alarm.word`.
    public func acknowledged(_ app: AppKey) async throws(StoreError) -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for (word, record) in try await redis.run("HGETALL", keys.consoleKnownAlarms(app)).pairs() {
            found[try word.string()] = Array(try record.bytes())
        }
        return found
    }

    /// - Parameters:
    ///   - alarm: its `word`
    ///   - record: nil: nobody knows of it
    public func acknowledge(_ app: AppKey, _ alarm: String, _ record: [UInt8]?) async throws(StoreError) {
        let key = keys.consoleKnownAlarms(app)
        guard let record else {
            try await redis.run("HDEL", key, .string(alarm))
            return
        }
        try await put(key, alarm, record)
    }
}
