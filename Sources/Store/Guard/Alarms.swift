public import LiveActivity
import Redis

public struct Alarms: Sendable {
    /// An alarm that no worker repeats ends: the workers are gone, or the app has nothing to send.
    static let life: Duration = .seconds(900)

    let redis: RedisClient
    let keys: Keyspace
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    public func raise(_ app: AppKey, _ kind: Alarm.Kind, _ reason: String) async throws(StoreError) {
        let life = kind == .pruneGuard ? .milliseconds(RegistryRecord.Span.activity.retention) : Self.life
        try await redis.run(
            Lua.alarmRaise, keys: ["alarm": keys.alarm(app)],
            [
                "kind": .string(kind.rawValue), "reason": .string(reason), "now": .int(clock()),
                "life": .int(life.milliseconds),
            ])
    }

    public func clear(_ app: AppKey, _ kind: Alarm.Kind) async throws(StoreError) {
        let name = kind.rawValue
        try await redis.run("HDEL", keys.alarm(app), .string(name), .string("\(name):since"), .string("\(name):until"))
    }

    /// The alarms that stand, sorted by app and kind. That of the prune guard stands as long as tokens are quarantined.
    public func list(_ apps: [AppKey]) async throws(StoreError) -> [Alarm] {
        var alarms: [Alarm] = []
        let now = clock()
        for app in apps {
            let replies = try await redis.run([
                RedisCommand("HGETALL", keys.alarm(app)),
                RedisCommand("ZCOUNT", keys.quarantinedNames(app), .string("(\(now)"), "+inf"),
            ])
            let (fields, names) = (try StoredHash(replies[0]), try replies[1].integer())
            for kind in Alarm.Kind.allCases {
                let until = fields.number("\(kind.rawValue):until").map(Int64.init) ?? .max
                var reason = until > now ? fields.text(kind.rawValue) : nil
                let since = Int64(fields.number("\(kind.rawValue):since") ?? Int(now))
                if kind == .pruneGuard {
                    let text = "tokens are quarantined under \(names) \(names == 1 ? "name" : "names")"
                    reason = names > 0 ? (reason.map { "\($0); " } ?? "") + text : nil
                }
                if let reason { alarms.append(Alarm(app: app, kind: kind, reason: reason, since: since)) }
            }
        }
        return alarms.sorted { ($0.app.rawValue, $0.kind.rawValue) < ($1.app.rawValue, $1.kind.rawValue) }
    }
}
