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

    /// Raises or repeats an alarm of an app.
    public func raise(_ app: AppKey, _ kind: Alarm.Kind, _ reason: String) async throws(StoreError) {
        try await raise(AppPlatform(app, .ios), kind, reason)
    }

    /// Raises or repeats an alarm of an app that concerns one platform.
    public func raise(_ key: AppPlatform, _ kind: Alarm.Kind, _ reason: String) async throws(StoreError) {
        let app = key.app
        let alarm = Alarm(app: app, platform: key.platform, kind: kind, reason: reason, since: clock())
        let event = OutgoingEvent.raised(alarm)
        let told = events.arguments(of: event, alarm)
        try await redis.run(
            Lua.alarmRaise, keys: keysOfEvents(app),
            [
                "kind": .string(alarm.word), "reason": .string(reason), "now": .int(alarm.since),
                "life": .int(kind.life.milliseconds),
                // A worker still has to tell that it ended.
                "kept": .int((events.isOn(app) ? kind.life + Outbox.life : kind.life).milliseconds),
                "keep": .int(told.keep), "id": .string(event.id), "event": .string(told.text),
                "isQueued": told.isQueued ? "1" : "0",
            ])
    }

    /// Lets no alarm stand for longer than its life from now on. Redis's clock was set back, so its end lies ahead.
    public func shorten(_ app: AppKey) async throws(StoreError) {
        let now = clock()
        let fields = try await redis.hash(keys.alarm(app))
        for alarm in Self.all(app) {
            let (field, latest) = ("\(alarm.word):until", now + alarm.kind.life.milliseconds)
            if let until = fields.number(field), until > latest {
                try await redis.run("HSET", keys.alarm(app), .string(field), .int(latest))
            }
        }
    }

    /// Every alarm that an app can have, without reason and time.
    private static func all(_ app: AppKey) -> [Alarm] {
        (0...Platform.mostCode).flatMap { code in
            Alarm.Kind.all.map { Alarm(app: app, platform: Platform(code: code), kind: $0, reason: "", since: 0) }
        }
    }

    public func clear(_ app: AppKey, _ kind: Alarm.Kind) async throws(StoreError) {
        try await clear(AppPlatform(app, .ios), kind)
    }

    public func clear(_ key: AppPlatform, _ kind: Alarm.Kind) async throws(StoreError) {
        let alarm = Alarm(app: key.app, platform: key.platform, kind: kind, reason: "", since: 0)
        if events.isOn(key.app), try await tellCleared(alarm, before: nil) { return }
        let word = alarm.word
        try await redis.run(
            "HDEL", keys.alarm(key.app), .string(word), .string("\(word):since"), .string("\(word):until"))
    }

    /// Tells the end of alarms that nobody repeated. A worker calls this now and then.
    public func tellEnded(_ app: AppKey) async throws(StoreError) {
        guard events.isOn(app) else { return }
        let now = clock()
        let fields = try await redis.hash(keys.alarm(app))
        let told = Self.all(app).filter { fields.text("\($0.word):told") != nil }
        if told.isEmpty { return }
        let standing = Set(try await list([app]).map(\.word))
        for alarm in told where !standing.contains(alarm.word) { _ = try await tellCleared(alarm, before: now) }
    }

    /// Clears an alarm and tells it, in one step.
    /// - Parameter before: only if it ended by then, epoch ms.
    /// - Returns: false if its raising was not told, or another caller was quicker.
    private func tellCleared(_ ended: Alarm, before: Int64?) async throws(StoreError) -> Bool {
        var alarm = ended
        let (app, word) = (alarm.app, alarm.word)
        let (reason, told) = try await redis.run("HMGET", keys.alarm(app), .string(word), .string("\(word):told"))
            .values(.optionalString("reason"), .optionalString("told"))
        guard let told, let since = StoredNumber.read(told) else { return false }
        (alarm.reason, alarm.since) = (reason ?? "", Int64(since))
        let event = OutgoingEvent.cleared(alarm, at: clock())
        let arguments = events.arguments(of: event, alarm)
        return try await redis.run(
            Lua.alarmClear, keys: keysOfEvents(app),
            [
                "kind": .string(word), "told": .string(told), "before": before.map { .int($0) } ?? "",
                "keep": .int(arguments.keep), "id": .string(event.id), "event": .string(arguments.text),
                "isQueued": arguments.isQueued ? "1" : "0",
            ]
        ).isOne()
    }

    private func keysOfEvents(_ app: AppKey) -> KeyValuePairs<String, RedisKey> {
        ["alarm": keys.alarm(app), "out": keys.events(app), "queue": keys.eventQueue(app)]
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
            for var alarm in Self.all(app) {
                let until = fields.number("\(alarm.word):until").map(Int64.init) ?? .max
                var reason = until > now ? fields.text(alarm.word) : nil
                alarm.since = min(now, Int64(fields.number("\(alarm.word):since") ?? Int(now)))
                // The quarantine does not tell platforms apart.
                if alarm.word == Alarm.Kind.pruneGuard.rawValue {
                    let text = "tokens are quarantined under \(names) \(names == 1 ? "name" : "names")"
                    reason = names > 0 ? (reason.map { "\($0); " } ?? "") + text : nil
                }
                guard let reason else { continue }
                alarm.reason = reason
                alarms.append(alarm)
            }
        }
        return alarms.sorted { ($0.app.rawValue, $0.word) < ($1.app.rawValue, $1.word) }
    }
}
