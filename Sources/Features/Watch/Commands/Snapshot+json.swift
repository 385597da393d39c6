import LiveActivity
import Store
import StrictJSON

/// The deployment as a line of `watch --json`.
extension Snapshot {
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
