public import LiveActivity
package import Redis
public import StoreGround

public struct Alarms: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64
    package let events: Events

    package init(redis: RedisClient, keys: Keyspace, clock: @escaping @Sendable () -> Int64, events: Events) {
        self.redis = redis
        self.keys = keys
        self.clock = clock
        self.events = events
    }

    public func raise(_ app: AppKey, _ kind: Alarm.Kind, _ reason: String) async throws(StoreError) {
        let alarm = Alarm(app: app, kind: kind, reason: reason, since: clock())
        let event = OutgoingEvent.raised(alarm)
        let told = events.arguments(of: event, alarm)
        try await redis.run(
            Lua.alarmRaise, keys: keysOfEvents(app),
            [
                "kind": .string(kind.rawValue), "reason": .string(reason), "now": .int(alarm.since),
                "life": .int(kind.life.milliseconds),
                // A worker still has to tell that it ended.
                "kept": .int((events.isOn(app) ? kind.life + Outbox.life : kind.life).milliseconds),
                "keep": .int(told.keep), "id": .string(event.id), "event": .string(told.text),
                "isForWebhook": told.isForWebhook ? "1" : "0",
            ])
    }

    /// Lets no alarm stand for longer than its life from now on. Redis's clock was set back, so its end lies ahead.
    public func shorten(_ app: AppKey) async throws(StoreError) {
        let now = clock()
        let fields = try await redis.hash(keys.alarm(app))
        for kind in Alarm.Kind.all {
            let (field, latest) = ("\(kind.rawValue):until", now + kind.life.milliseconds)
            if let until = fields.number(field), until > latest {
                try await redis.run("HSET", keys.alarm(app), .string(field), .int(latest))
            }
        }
    }

    public func clear(_ app: AppKey, _ kind: Alarm.Kind) async throws(StoreError) {
        let name = kind.rawValue
        if events.isOn(app), try await tellCleared(app, kind, before: nil) { return }
        try await redis.run("HDEL", keys.alarm(app), .string(name), .string("\(name):since"), .string("\(name):until"))
    }

    /// Tells the end of alarms that nobody repeated. A worker calls this now and then.
    public func tellEnded(_ app: AppKey) async throws(StoreError) {
        guard events.isOn(app) else { return }
        let now = clock()
        let fields = try await redis.hash(keys.alarm(app))
        let told = Alarm.Kind.all.filter { fields.text("\($0.rawValue):told") != nil }
        if told.isEmpty { return }
        let standing = Set(try await list([app]).map(\.kind))
        for kind in told where !standing.contains(kind) { _ = try await tellCleared(app, kind, before: now) }
    }

    /// Clears an alarm and tells it, in one step.
    /// - Parameter before: only if it ended by then, epoch ms.
    /// - Returns: false if its raising was not told, or another caller was quicker.
    private func tellCleared(_ app: AppKey, _ kind: Alarm.Kind, before: Int64?) async throws(StoreError) -> Bool {
        let name = kind.rawValue
        let (reason, told) = try await redis.run("HMGET", keys.alarm(app), .string(name), .string("\(name):told"))
            .values(.optionalString("reason"), .optionalString("told"))
        guard let told, let since = StoredNumber.read(told) else { return false }
        let alarm = Alarm(app: app, kind: kind, reason: reason ?? "", since: Int64(since))
        let event = OutgoingEvent.cleared(alarm, at: clock())
        let arguments = events.arguments(of: event, alarm)
        return try await redis.run(
            Lua.alarmClear, keys: keysOfEvents(app),
            [
                "kind": .string(name), "told": .string(told), "before": before.map { .int($0) } ?? "",
                "keep": .int(arguments.keep), "id": .string(event.id), "event": .string(arguments.text),
                "isForWebhook": arguments.isForWebhook ? "1" : "0",
            ]
        ).isOne()
    }

    private func keysOfEvents(_ app: AppKey) -> KeyValuePairs<String, RedisKey> {
        ["alarm": keys.alarm(app), "out": keys.events(app), "wh": keys.webhookQueue(app)]
    }

    /// The alarms that stand, sorted by app and kind. The prune guard's alarm stands as long as tokens are quarantined.
    public func list(_ apps: [AppKey]) async throws(StoreError) -> [Alarm] {
        var alarms: [Alarm] = []
        let now = clock()
        for app in apps {
            let (fields, names) = try await redis.run([
                RedisCommand("HGETALL", keys.alarm(app)),
                RedisCommand("ZCOUNT", keys.quarantinedNames(app), .string("(\(now)"), "+inf"),
            ]).values(.hash("alarms"), .integer("quarantined names"))
            for kind in Alarm.Kind.all {
                let until = fields.number("\(kind.rawValue):until").map(Int64.init) ?? .max
                var reason = until > now ? fields.text(kind.rawValue) : nil
                let since = min(now, Int64(fields.number("\(kind.rawValue):since") ?? Int(now)))
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
