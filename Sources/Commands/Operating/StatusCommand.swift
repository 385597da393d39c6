import ArgumentParser
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "status", "Show the queues, the alarms, the workers and Redis.",
        details: "This command reads Redis itself, so it works without a gateway.",
        examples: "status", "status --json --redis-url redis://10.0.0.5:6379/0")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags

    func run() async throws {
        let settings = try global.settings(redis.given)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("status", settings))
        try await store.checkFormat()
        let findings = try await RedisInspection.findings(store.redis, settings)
        try await store.time.measure()
        let snapshot = try await store.snapshot(settings.apps.map(\.key), Report.parts)
        var unserved: [AppKey] = []
        for app in settings.apps.map(\.key) where try await !store.workers([app]).contains(where: \.isAtWork) {
            unserved.append(app)
        }
        var found: [[StatusLine.Found]] = []
        for line in StatusLine.ofFeatures {
            var ofApps: [StatusLine.Found] = []
            for app in snapshot.apps { ofApps.append(try await line.read(store, app, snapshot.now)) }
            found.append(ofApps)
        }
        let report = Report(
            settings: settings, findings: findings, snapshot: snapshot, found: found, unserved: unserved,
            ahead: store.time.machineAhead ?? 0)
        await store.redis.close()
        if global.json { Terminal.print(report.json.text) } else { report.lines.forEach(Terminal.print) }
    }

    private struct Report {
        var settings: Settings
        var findings: [RedisFindings]
        var snapshot: Snapshot
        /// The words of each line of `StatusLine.ofFeatures` for each app.
        var found: [[StatusLine.Found]]
        /// The apps for which no worker is at work.
        var unserved: [AppKey]
        /// Ms that this machine's clock is ahead of Redis's.
        var ahead: Int64

        static let parts: [Snapshot.Part] = [
            .depths, .deadLetters, .quarantine, .counts, .alarms, .pauses, .workers,
        ]

        private var apps: [Snapshot.App] { snapshot.apps }
        private var now: Int64 { snapshot.now }

        var lines: [String] {
            let memory = (findings.usedMemory ?? 0) >> 20
            var lines = ["\(findings.first?.version.text ?? "") at \(settings.redisURL): \(memory) MB in use"]
            lines += findings.merged(\.losses).map { "\($0.mark.rawValue) \($0.text)" }
            if let difference = ClockDifference(ahead: ahead) { lines.append("! \(difference)") }
            // The line of a feature says more than its alarm.
            let alarms = snapshot.alarms.filter { alarm in
                !found.contains { zip(apps, $0).contains { $0.key == alarm.app && $1.told == alarm.kind } }
            }
            lines += alarms.map { alarm in
                let since = ago(Int(max(0, now - alarm.since)))
                return "✗ \(alarm.line), first \(since)"
            }
            if !snapshot.workers.isEmpty {
                lines += unserved.map { "✗ app \($0): no worker is at work for it: start 'lamplighter work'" }
            }
            lines += snapshot.pauses.map { pause in
                let what = pause.name.map { "name \($0) of app \(pause.app)" } ?? "app \(pause.app)"
                let remedy = "lamplighter resume" + (pause.name.map { " \($0)" } ?? "") + " --app \(pause.app)"
                return "! \(what) is paused, since \(ago(Int(max(0, now - pause.since)))) ('\(remedy)')"
            }
            lines += [""]
            lines += Table.list(
                apps.map(\.depth), nothing: "no app is configured here, so no queue is shown",
                .text("APP", \.app.rawValue), .count("HIGH", \.pushesHigh), .count("LOW", \.pushesLow),
                .count("SHARDS", \.shardTasks), .count("RETRIES", \.retriesDue))
            for app in apps where app.deadLetters + app.quarantinedNames > 0 {
                let letters = "\(Terminal.grouped(app.deadLetters)) pushes with dead letters ('lamplighter dead list')"
                let names =
                    "\(Terminal.grouped(app.quarantinedNames)) names in quarantine ('lamplighter quarantine list')"
                lines.append("! app \(app.key): \(letters), \(names)")
            }
            for ofApps in found {
                lines += zip(apps, ofApps).compactMap { app, found in found.text.map { "! app \(app.key): \($0)" } }
            }
            let workers = snapshot.workers
            guard !workers.isEmpty else { return lines + ["", "no worker has joined yet: start 'lamplighter work'"] }
            let table = Table.list(
                workers, .text("WORKER", \.name), .right("TASKS") { "\($0.pending)" },
                .right("LAST SEEN") { ago($0.idle) })
            return lines + [""] + table
        }

        var json: JSON {
            [
                "redis": .fields([
                    "url": .string(settings.redisURL.description),
                    "version": .string(findings.first?.info["redis_version"] ?? ""),
                    "used_memory": findings.usedMemory.map(JSON.integer),
                    "warnings": .array(findings.merged(\.losses).map { .string($0.text) }),
                ]),
                "apps": .array(
                    apps.enumerated().map { index, app in
                        var json = app.statusJSON
                        for (line, found) in zip(StatusLine.ofFeatures, found) {
                            json.append(line.key, found[index].json)
                        }
                        return json
                    }),
                "alarms": .array(snapshot.alarms.map(\.json)), "paused": .array(snapshot.pauses.map(\.json)),
                "workers": .array(
                    snapshot.workers.map {
                        ["name": .string($0.name), "idle_ms": .integer($0.idle), "pending": .integer($0.pending)]
                    }),
            ]
        }

        private func ago(_ milliseconds: Int) -> String { StatusLine.ago(milliseconds) }
    }
}

/// A line of `status` from a feature, about each app.
struct StatusLine: Sendable {
    /// The member of `status --json`.
    let key: String
    /// Reads what it says of an app. The last argument is epoch ms of Redis's clock.
    let read: @Sendable (Store, Snapshot.App, Int64) async throws -> Found

    struct Found: Sendable {
        var json: JSON
        /// The line that tells what needs an operator. Nil: nothing does.
        var text: String?
        /// The alarm that the line tells too, so that it is not shown. Nil: none.
        var told: Alarm.Kind?
    }

    static func ago(_ milliseconds: Int) -> String {
        switch milliseconds {
        case ..<1_000: "now"
        case ..<120_000: "\(milliseconds / 1_000) s ago"
        case ..<7_200_000: "\(milliseconds / 60_000) min ago"
        default: "\(milliseconds / 3_600_000) h ago"
        }
    }
}

extension Snapshot.App {
    fileprivate var statusJSON: JSON {
        [
            "key": .string(key.rawValue), "pushes_high": .integer(depth.pushesHigh),
            "pushes_low": .integer(depth.pushesLow), "shard_tasks": .integer(depth.shardTasks),
            "retries_due": .integer(depth.retriesDue), "dead_letters": .integer(deadLetters),
            "quarantined_names": .integer(quarantinedNames),
        ]
    }
}
