public import LiveActivity
import Redis

/// Something an operator has to see to, until a worker takes it back or nobody has repeated it for a while.
public struct Alarm: Sendable, Hashable {
    public var app: AppKey
    /// `credentials`, `unreachable`, …
    public var kind: String
    public var reason: String
    /// Epoch milliseconds of its first raising.
    public var since: Int64

    public init(app: AppKey, kind: String, reason: String, since: Int64) {
        self.app = app
        self.kind = kind
        self.reason = reason
        self.since = since
    }
}

public struct Alarms: Sendable {
    /// An alarm that no worker repeats is over: the workers are gone, or the app has nothing to send.
    static let life: Duration = .seconds(900)

    let redis: RedisClient
    let keys: Keyspace

    public func raise(_ alarm: Alarm) async throws(StoreError) {
        let key = RedisArgument.string(keys.alarm(alarm.app))
        _ = try await redis.run([
            RedisCommand("HSETNX", [key, .string("\(alarm.kind):since"), .int(alarm.since)]),
            RedisCommand("HSET", [key, .string(alarm.kind), .string(alarm.reason)]),
            RedisCommand("PEXPIRE", [key, .int(Self.life.milliseconds)]),
        ])
    }

    public func clear(_ app: AppKey, kind: String) async throws(StoreError) {
        _ = try await redis.run([
            RedisCommand("HDEL", [.string(keys.alarm(app)), .string(kind), .string("\(kind):since")])
        ])
    }

    public func list(_ apps: [AppKey]) async throws(StoreError) -> [Alarm] {
        var alarms: [Alarm] = []
        for app in apps {
            let reply = try await redis.run([RedisCommand("HGETALL", [.string(keys.alarm(app))])])[0]
            let fields = try redisErrors { () throws(RedisError) in try StoredHash(reply) }
            for (kind, reason) in fields.pairs where !kind.hasSuffix(":since") {
                let since = fields.number("\(kind):since") ?? 0
                alarms.append(Alarm(app: app, kind: kind, reason: reason, since: Int64(since)))
            }
        }
        return alarms.sorted { ($0.app.rawValue, $0.kind) < ($1.app.rawValue, $1.kind) }
    }
}
