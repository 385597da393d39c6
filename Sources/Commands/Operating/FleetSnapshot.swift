import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

/// The deployment at one moment, as `status --watch` shows it.
struct FleetSnapshot: Sendable {
    struct App: Sendable {
        var depth: QueueDepth
        var age: QueueAge
        var deadLetters: Int
        var quarantinedNames: Int
        var webhookDead: Int
    }

    /// Epoch ms of Redis's clock.
    var now: Int64
    var redis: String
    var load: RedisLoad
    var apps: [App]
    var alarms: [Alarm]
    var pauses: [Pause]
    var heartbeats: [Heartbeat]
    var pushes: [PushUnderWay]

    static let mostPushes = 50

    /// Reads everything from Redis, in a few round trips.
    static func read(_ store: Store, _ keys: [AppKey], redis: String) async throws(StoreError) -> FleetSnapshot {
        try await store.time.measure()
        let now = store.time.now()
        let depths = try await store.queue.depth(keys)
        let ages = try await store.queue.age(keys, now: now)
        var apps: [App] = []
        for (depth, age) in zip(depths, ages) {
            apps.append(
                App(
                    depth: depth, age: age, deadLetters: try await store.deadLetters.count(depth.app),
                    quarantinedNames: try await store.quarantine.count(depth.app),
                    webhookDead: try await store.webhooks.status(depth.app).dead))
        }
        return FleetSnapshot(
            now: now, redis: redis, load: try await store.redisLoad(), apps: apps,
            alarms: try await store.alarms.list(keys), pauses: try await store.pauses.list(keys),
            heartbeats: try await store.heartbeats.list(now: now),
            pushes: try await store.queue.underWay(keys, limit: mostPushes))
    }

    var live: [Heartbeat] { heartbeats.filter { $0.isFresh(now: now) } }

    /// The sum over the workers that live, of one app or of all.
    func total(_ field: KeyPath<Heartbeat.Load, Int>, of app: AppKey? = nil) -> Int {
        live.reduce(0) { sum, heartbeat in
            sum + heartbeat.loads.reduce(0) { app == nil || $1.key == app ? $0 + $1.value[keyPath: field] : $0 }
        }
    }

    /// Answers other than 200 since the start of the workers that live, by reason.
    var errors: [String: Int] {
        live.flatMap { $0.loads.values.map(\.errors) }.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }

    /// One line of JSON.
    var json: JSON {
        [
            "at": .string(TimeText.text(now)), "tokens_per_second": .integer(total(\.rate)),
            "in_flight": .integer(total(\.inFlight)), "pages": .integer(total(\.pages)),
            "redis": .fields([
                "used_memory": .integer(load.usedMemory), "memory_limit": .integer(load.memoryLimit),
            ]),
            "apps": .array(apps.map(Self.queues)), "workers": .array(heartbeats.map(worker)),
            "errors": .counts(errors), "alarms": .array(alarms.map(\.json)),
            "paused": .array(pauses.map(\.json)),
            "pushes": .array(pushes.map(Self.push)),
        ]
    }

    private func worker(_ heartbeat: Heartbeat) -> JSON {
        func sum(_ field: KeyPath<Heartbeat.Load, Int>) -> JSON {
            .integer(heartbeat.loads.values.reduce(0) { $0 + $1[keyPath: field] })
        }
        return [
            "name": .string(heartbeat.worker), "idle_ms": .integer(max(0, now - heartbeat.at)),
            "lanes": sum(\.lanes), "connected": sum(\.connected), "tokens_per_second": sum(\.rate),
            "in_flight": sum(\.inFlight), "pages": sum(\.pages),
            "silent": .bool(!heartbeat.isFresh(now: now)), "started_at": .string(TimeText.text(heartbeat.startedAt)),
        ]
    }

    private static func push(_ push: PushUnderWay) -> JSON {
        [
            "push_id": .string(push.id.description), "app": .string(push.app.rawValue),
            "name": .string(push.name.rawValue), "event": .string(push.event.rawValue),
            "state": push.isWaiting ? "queued" : "sending", "priority": .integer(push.priority.rawValue),
            "targets": .integer(push.targets), "settled": .integer(push.settled),
            "percent": .integer(Int(push.share * 100)),
        ]
    }

    private static func queues(_ app: App) -> JSON {
        func queue(_ depth: Int, _ age: Int64) -> JSON { ["depth": .integer(depth), "oldest_ms": .integer(age)] }
        return [
            "key": .string(app.depth.app.rawValue), "pushes_high": queue(app.depth.pushesHigh, app.age.pushesHigh),
            "pushes_low": queue(app.depth.pushesLow, app.age.pushesLow),
            "shard_tasks": queue(app.depth.shardTasks, app.age.shardTasks),
            "retries_due": queue(app.depth.retriesDue, app.age.retriesDue),
            "schedules": queue(app.age.waitingSchedules, app.age.schedules),
            "dead_letters": .integer(app.deadLetters), "quarantined_names": .integer(app.quarantinedNames),
        ]
    }
}
