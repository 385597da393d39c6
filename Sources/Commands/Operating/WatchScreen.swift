import LiveActivity
import Store

/// The page of `status --watch` as lines of text, for a terminal of any size. It reads nothing and draws nothing.
struct WatchScreen {
    static let parts: [Snapshot.Part] = [
        .depths, .ages, .deadLetters, .quarantine, .webhooks, .load, .alarms, .pauses, .heartbeats, .pushes,
    ]

    var snapshot: Snapshot
    /// How the page names Redis.
    var redis: String
    /// Columns of the terminal.
    var width: Int
    /// Lines of the terminal; nil: as many as there are.
    var height: Int?

    private static let mostErrors = 8
    private static let mostAlarms = 6

    var lines: [String] {
        var lines = head + alarms + [""] + queues + [""] + workers + errors
        let pushes = pushes
        if !pushes.isEmpty { lines += [""] + pushes }
        if let height, lines.count > height {
            // The last line says that there is more, so that nobody takes the page for the whole.
            let hidden = lines.count - height + 1
            lines = lines.prefix(max(0, height - 1)) + ["… \(Terminal.counted(hidden, "more line")): a taller terminal"]
        }
        return lines.map { $0.cut(to: width).withoutTrailingSpace }
    }

    private var head: [String] {
        let (used, limit) = (snapshot.load.usedMemory >> 20, snapshot.load.memoryLimit >> 20)
        let memory = Terminal.grouped(used) + (limit > 0 ? " of \(Terminal.grouped(limit))" : "") + " MB"
        let time = TimeText.text(snapshot.now).dropFirst(11).prefix(8)
        let workers = Terminal.counted(snapshot.live.count, "worker")
        let lanes = "\(Terminal.counted(snapshot.total(\.lanes), "lane")) (\(snapshot.total(\.connected)) connected)"
        let rate = "\(Terminal.grouped(snapshot.total(\.rate))) tokens/s"
        let inFlight = "\(Terminal.grouped(snapshot.total(\.inFlight))) in flight"
        let pages = Terminal.counted(snapshot.total(\.pages), "page")
        return [
            "lamplighter  \(time) UTC  \(memory)  \(redis)",
            "\(workers), \(lanes)  \(rate)  \(inFlight)  \(pages)",
        ]
    }

    private var alarms: [String] {
        var lines = snapshot.alarms.map { alarm in
            "✗ app \(alarm.app): \(alarm.kind.rawValue): \(alarm.reason), since \(age(snapshot.now - alarm.since))"
        }
        if lines.count > Self.mostAlarms {
            lines = lines.prefix(Self.mostAlarms) + ["✗ \(lines.count - Self.mostAlarms) more alarms"]
        }
        let silent = snapshot.heartbeats.count - snapshot.live.count
        let (used, limit) = (snapshot.load.usedMemory, snapshot.load.memoryLimit)
        let isFull = limit > 0 && used >= limit
        if isFull {
            lines.append("✗ Redis is full: nothing is accepted or sent, and no worker can write a heartbeat")
        } else if limit > 0, used >= limit / 10 * 9 {
            lines.append("! Redis is nearly full: \(used * 100 / limit) % of its limit")
        }
        if snapshot.live.isEmpty, !isFull {
            lines.append("✗ no worker sends a heartbeat: start 'lamplighter work'")
        } else if silent > 0 {
            lines.append("! \(Terminal.counted(silent, "worker")) without a heartbeat: killed, stopped, or cut off")
        }
        for pause in snapshot.pauses.prefix(Self.mostAlarms) {
            let what = pause.name.map { "name \($0) of app \(pause.app)" } ?? "app \(pause.app)"
            lines.append("! \(what) is paused, since \(age(snapshot.now - pause.since))")
        }
        for app in snapshot.apps where app.deadLetters + app.quarantinedNames + app.webhook.dead > 0 {
            let parts = [
                (app.deadLetters, "pushes with dead letters"), (app.quarantinedNames, "names in quarantine"),
                (app.webhook.dead, "dead events"),
            ].filter { $0.0 > 0 }.map { "\(Terminal.grouped($0.0)) \($0.1)" }
            lines.append("! app \(app.key): \(parts.joined(separator: ", "))")
        }
        return lines.isEmpty ? lines : [""] + lines
    }

    private var queues: [String] {
        guard !snapshot.apps.isEmpty else { return ["no app is configured here, so no queue is shown"] }
        var table = FittedTable(columns: [
            .init(title: "APP", isRight: false), .init(title: "TOKENS/S"), .init(title: "HIGH"), .init(title: "AGE"),
            .init(title: "LOW"), .init(title: "AGE"), .init(title: "SHARDS"), .init(title: "AGE", rank: 2),
            .init(title: "RETRIES"), .init(title: "LATE"), .init(title: "SCHEDULES", rank: 1),
            .init(title: "LATE", rank: 1),
        ])
        for app in snapshot.apps {
            let (depth, age) = (app.depth, app.age)
            table.rows.append([
                depth.app.rawValue, Terminal.grouped(snapshot.total(\.rate, of: depth.app)),
                Terminal.grouped(depth.pushesHigh), self.age(age.pushesHigh), Terminal.grouped(depth.pushesLow),
                self.age(age.pushesLow), Terminal.grouped(depth.shardTasks), self.age(age.shardTasks),
                Terminal.grouped(depth.retriesDue), self.age(age.retriesDue),
                Terminal.grouped(age.waitingSchedules), self.age(age.schedules),
            ])
        }
        return table.lines(width: width)
    }

    private var workers: [String] {
        guard !snapshot.heartbeats.isEmpty else { return ["no worker has joined yet: start 'lamplighter work'"] }
        var table = FittedTable(columns: [
            .init(title: "WORKER", isRight: false), .init(title: "LANES"), .init(title: "TOKENS/S"),
            .init(title: "IN FLIGHT"), .init(title: "PAGES", rank: 1), .init(title: "DELIVERED"),
            .init(title: "PRUNED", rank: 3), .init(title: "FAILED", rank: 2), .init(title: "UP", rank: 4),
            .init(title: "SEEN"),
        ])
        for heartbeat in snapshot.heartbeats {
            let loads = heartbeat.loads.values
            func sum(_ field: KeyPath<Heartbeat.Load, Int>) -> Int { loads.reduce(0) { $0 + $1[keyPath: field] } }
            func settled(_ outcome: SettledField) -> String {
                Terminal.grouped(loads.reduce(0) { $0 + ($1.outcomes[outcome.rawValue] ?? 0) })
            }
            let isFresh = heartbeat.isFresh(now: snapshot.now)
            table.rows.append([
                heartbeat.worker, "\(sum(\.connected))/\(sum(\.lanes))", isFresh ? Terminal.grouped(sum(\.rate)) : "-",
                isFresh ? Terminal.grouped(sum(\.inFlight)) : "-", isFresh ? "\(sum(\.pages))" : "-",
                settled(.delivered), settled(.pruned), settled(.failed), age(snapshot.now - heartbeat.startedAt),
                age(snapshot.now - heartbeat.at),
            ])
        }
        return table.lines(width: width)
    }

    private var errors: [String] {
        let ranked = Terminal.ranked(snapshot.errors)
        guard !ranked.isEmpty else { return [] }
        let parts = ranked.prefix(Self.mostErrors).map { "\($0.key) \(Terminal.grouped($0.value))" }
        return ["", "ERRORS  " + parts.joined(separator: "  ")]
    }

    private var pushes: [String] {
        guard !snapshot.pushes.isEmpty else { return [] }
        // The bar takes what the other columns leave, within reason.
        let barWidth = min(40, max(10, width - 64))
        var table = FittedTable(columns: [
            .init(title: "PUSH", isRight: false), .init(title: "ID", isRight: false, rank: 2),
            .init(title: "EVENT", isRight: false, rank: 1), .init(title: "TARGETS"), .init(title: "SETTLED"),
            .init(title: "AGE"), .init(title: "", isRight: false), .init(title: ""),
        ])
        for push in snapshot.pushes {
            let filled = Int((push.share * Double(barWidth)).rounded(.down))
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: barWidth - filled)
            table.rows.append([
                push.name.rawValue, push.id.description, "\(push.event.rawValue) \(push.priority.rawValue)",
                Terminal.grouped(push.targets), Terminal.grouped(push.settled), age(snapshot.now - push.createdAt),
                push.isWaiting ? "waits for a worker" : bar, push.isWaiting ? "" : "\(Int(push.share * 100))%",
            ])
        }
        return table.lines(width: width)
    }

    /// Writes a time such as `0 s`, `59 s`, `12 min`, `3 h` or `4 d`.
    private func age(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1_000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}

extension String {
    fileprivate var withoutTrailingSpace: String {
        guard let last = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...last])
    }
}
