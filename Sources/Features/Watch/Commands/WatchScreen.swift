import LiveActivity
import Store

/// The page of `watch` as lines of text, for a terminal of any size. It reads nothing and draws nothing.
struct WatchScreen {
    static let parts: [Snapshot.Part] = [
        .depths, .ages, .deadLetters, .quarantine, .counts, .load, .alarms, .pauses, .heartbeats, .pushes,
    ]

    var snapshot: Snapshot
    /// How the page names Redis.
    var redis: String
    /// Columns of the terminal.
    var width: Int
    /// Lines of the terminal; nil: as many as there are.
    var height: Int?
    /// Tokens a second of the pages before, the oldest first.
    var rates: [Int] = []
    /// The choices that a person made by keys. Nil: nobody can press a key.
    var keys: Keys?

    /// The choices that a person made by keys.
    struct Keys: Equatable {
        var order = Order.name
        var showsHelp = false
    }

    /// The order of workers and pushes.
    enum Order: String, CaseIterable {
        case name, rate, delivered, age
        var next: Order {
            let all = Self.allCases
            return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
        }
    }

    private static let mostErrors = 8
    private static let mostAlarms = 6

    var lines: [String] {
        var lines = head + (keys?.showsHelp == true ? help : [])
        lines += alarms + [""] + queues + [""] + workers + errors
        let pushes = pushes
        if !pushes.isEmpty { lines += [""] + pushes }
        let foot =
            keys.map { keys in
                ["q quit  s sort by \(keys.order.next.rawValue)  ? \(keys.showsHelp ? "hide " : "")help"]
            } ?? []
        let room = height.map { max(0, $0 - foot.count) }
        if let room, lines.count > room {
            // The last line says that there is more, so that nobody takes the page for the whole.
            let hidden = lines.count - room + 1
            lines = lines.prefix(max(0, room - 1)) + ["… \(Terminal.counted(hidden, "more line")): a taller terminal"]
        }
        return (lines + foot).map { $0.cut(to: width).withoutTrailingSpace }
    }

    private var help: [String] {
        [
            "",
            "HIGH, LOW   pushes of priority 10 and 5 that wait; (3 s): the oldest, so long",
            "SHARDS      parts of large pushes that wait",
            "RETRIES     tokens whose next attempt is due",
            "q, Ctrl-C   quit    s  sort workers and pushes    ?  this help",
        ]
    }

    /// A bar for each of the last pages.
    private var line: [String] {
        let shown = rates.suffix(max(0, min(60, width - 24)))
        guard shown.count > 1, let most = shown.max(), most > 0 else { return [] }
        let bars = Array("▁▂▃▄▅▆▇█")
        let text = String(shown.map { bars[$0 * (bars.count - 1) / most] })
        return ["\(text)  at most \(Terminal.grouped(most))/s"]
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
        ] + line
    }

    private var alarms: [String] {
        // The end of the reason is the remedy, so it goes on in a line of its own.
        var lines = snapshot.alarms.prefix(Self.mostAlarms).flatMap { alarm in
            let since = age(snapshot.now - alarm.since)
            return "✗ \(alarm.line), since \(since)"
                .wrapped(to: width, indent: 2)
        }
        let more = snapshot.alarms.count - Self.mostAlarms
        if more > 0 { lines.append("✗ \(Terminal.counted(more, "more alarm"))") }
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
        for app in snapshot.apps {
            var parts = [
                (app.deadLetters, "pushes with dead letters"), (app.quarantinedNames, "names in quarantine"),
            ]
            for count in FleetCount.all { if let what = count.decides { parts.append((Int(app[count: count]), what)) } }
            let shown = parts.filter { $0.0 > 0 }.map { "\(Terminal.grouped($0.0)) \($0.1)" }
            if shown.isEmpty { continue }
            lines.append("! app \(app.key): \(shown.joined(separator: ", "))")
        }
        return lines.isEmpty ? lines : [""] + lines
    }

    private var queues: [String] {
        guard !snapshot.apps.isEmpty else { return ["no app is configured here, so no queue is shown"] }
        var table = Table([
            .text("APP"), .number("TOKENS/S"), .number("HIGH"), .number("LOW"), .number("SHARDS"), .number("RETRIES"),
            .number("SCHEDULES", rank: 1),
        ])
        func waiting(_ count: Int, _ age: Int64) -> String {
            Terminal.grouped(count) + (count > 0 && age >= 1_000 ? " (\(self.age(age)))" : "")
        }
        for app in snapshot.apps {
            let (depth, age) = (app.depth, app.age)
            table.rows.append([
                depth.app.rawValue, Terminal.grouped(snapshot.total(\.rate, of: depth.app)),
                waiting(depth.pushesHigh, age.pushesHigh), waiting(depth.pushesLow, age.pushesLow),
                waiting(depth.shardTasks, age.shardTasks), waiting(depth.retriesDue, age.retriesDue),
                waiting(age.waitingSchedules, age.schedules),
            ])
        }
        return table.fitted(to: width).lines
    }

    private var workers: [String] {
        guard !snapshot.heartbeats.isEmpty else { return ["no worker has joined yet: start 'lamplighter work'"] }
        var table = Table([
            .text("WORKER"), .number("LANES"), .number("TOKENS/S"), .number("IN FLIGHT"), .number("PAGES", rank: 1),
            .number("DELIVERED"), .number("PRUNED", rank: 3), .number("FAILED", rank: 2), .number("UP", rank: 4),
            .number("SEEN"),
        ])
        for heartbeat in sortedHeartbeats {
            func sum(_ value: (Heartbeat.Load) -> Int) -> Int { Self.sum(heartbeat, value) }
            func settled(_ outcome: SettledField) -> String { Terminal.grouped(Self.settled(heartbeat, outcome)) }
            let isFresh = heartbeat.isFresh(now: snapshot.now)
            table.rows.append([
                heartbeat.worker, "\(sum(\.connected))/\(sum(\.lanes))", isFresh ? Terminal.grouped(sum(\.rate)) : "-",
                isFresh ? Terminal.grouped(sum(\.inFlight)) : "-", isFresh ? "\(sum(\.pages))" : "-",
                settled(.delivered), settled(.pruned), settled(.failed), age(snapshot.now - heartbeat.startedAt),
                age(snapshot.now - heartbeat.at),
            ])
        }
        return table.fitted(to: width).lines
    }

    private var sortedHeartbeats: [Heartbeat] {
        let all = snapshot.heartbeats
        return switch keys?.order ?? .name {
        case .name: all
        case .rate: all.sorted { Self.sum($0, \.rate) > Self.sum($1, \.rate) }
        case .delivered: all.sorted { Self.settled($0, .delivered) > Self.settled($1, .delivered) }
        case .age: all.sorted { $0.at < $1.at }
        }
    }

    private static func sum(_ heartbeat: Heartbeat, _ value: (Heartbeat.Load) -> Int) -> Int {
        heartbeat.loads.values.reduce(0) { $0 + value($1) }
    }
    private static func settled(_ heartbeat: Heartbeat, _ outcome: SettledField) -> Int {
        sum(heartbeat) { $0.outcomes[outcome.rawValue] ?? 0 }
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
        var table = Table([
            .text("PUSH"), .whole("ID", rank: 2), .whole("EVENT", rank: 1), .number("TARGETS"), .number("SETTLED"),
            .number("AGE"), .whole(""), .number(),
        ])
        let sorted =
            switch keys?.order ?? .name {
            case .name: snapshot.pushes
            case .rate, .delivered: snapshot.pushes.sorted { $0.settled > $1.settled }
            case .age: snapshot.pushes.sorted { $0.createdAt < $1.createdAt }
            }
        for push in sorted {
            let filled = Int((push.share * Double(barWidth)).rounded(.down))
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: barWidth - filled)
            table.rows.append([
                push.name.rawValue, push.id.description, "\(push.event.rawValue) \(push.priority.rawValue)",
                Terminal.grouped(push.targets), Terminal.grouped(push.settled), age(snapshot.now - push.createdAt),
                push.isWaiting ? isPaused(push) ? "paused" : "waits for a worker" : bar,
                push.isWaiting ? "" : "\(Int(push.share * 100))%",
            ])
        }
        return table.fitted(to: width).lines
    }

    private func isPaused(_ push: PushUnderWay) -> Bool {
        snapshot.pauses.contains { $0.app == push.app && ($0.name ?? push.name) == push.name }
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
