import ArgumentParser
import Foundation
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

/// `lamplighter status`: shows the queues, the alarms, the workers and Redis.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the queues, the alarms, the workers and Redis.",
        discussion: """
            This command reads Redis itself, so it works without a gateway.

            Examples:
              lamplighter status
              lamplighter status --json --redis-url redis://10.0.0.5:6379/0
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags

    func run() async throws {
        let settings = try global.settings(redis.given)
        let logger = global.quietLogger("status", settings)
        let client = RedisInspection.client(settings, logger: logger)
        try await RedisInspection.await(client, settings, logger: logger)
        let store = Store(redis: client, prefix: settings.redisPrefix)
        let findings = try await RedisInspection.findings(client)
        let depths = try await store.queue.depth(settings.apps.map(\.key))
        let alarms = try await store.alarms.list(settings.apps.map(\.key))
        var kept: [AppKey: Kept] = [:]
        for app in settings.apps.map(\.key) {
            kept[app] = Kept(
                deadLetters: try await store.deadLetters.count(app),
                quarantinedNames: try await store.quarantine.count(app))
        }
        let workers = try await store.queue.workers(settings.apps.map(\.key)).sorted { $0.name < $1.name }
        await client.close()
        if global.json {
            Terminal.print(json(settings, findings, alarms, depths, kept, workers))
        } else {
            text(settings, findings, alarms, depths, kept, workers)
        }
    }

    /// Work that waits for an operator.
    private struct Kept {
        var deadLetters = 0
        var quarantinedNames = 0
    }

    private func text(
        _ settings: Settings, _ findings: [RedisFindings], _ alarms: [Alarm], _ depths: [QueueDepth],
        _ kept: [AppKey: Kept], _ workers: [(name: String, idle: Int, pending: Int)]
    ) {
        let memory = (findings.usedMemory ?? 0) >> 20
        let version = findings.first?.version.text ?? ""
        Terminal.print("\(version) at \(settings.redisURL): \(memory) MB in use")
        for finding in findings.merged(\.losses) { Terminal.print("\(finding.mark.rawValue) \(finding.text)") }
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for alarm in alarms {
            let since = Self.ago(Int(max(0, now - alarm.since)))
            Terminal.print("✗ app \(alarm.app): \(alarm.kind.rawValue): \(alarm.reason), first \(since)")
        }
        Terminal.print("")
        var queues = Table(.left, .right, .right, .right, .right)
        queues.add("APP", "HIGH", "LOW", "SHARDS", "RETRIES DUE")
        for depth in depths {
            queues.add(
                depth.app.rawValue, Terminal.grouped(depth.pushesHigh), Terminal.grouped(depth.pushesLow),
                Terminal.grouped(depth.shardTasks), Terminal.grouped(depth.retriesDue))
        }
        if depths.isEmpty { Terminal.print("no app is configured here, so no queue is shown") } else { queues.print() }
        for depth in depths {
            guard let kept = kept[depth.app], kept.deadLetters + kept.quarantinedNames > 0 else { continue }
            let letters = "\(Terminal.grouped(kept.deadLetters)) pushes with dead letters ('lamplighter dead list')"
            let names = "\(Terminal.grouped(kept.quarantinedNames)) names in quarantine ('lamplighter quarantine list')"
            Terminal.print("! app \(depth.app): \(letters), \(names)")
        }
        Terminal.print("")
        guard !workers.isEmpty else { return Terminal.print("no worker has joined yet: start 'lamplighter work'") }
        var table = Table(.left, .right, .right)
        table.add("WORKER", "TASKS", "LAST SEEN")
        for worker in workers { table.add(worker.name, "\(worker.pending)", Self.ago(worker.idle)) }
        table.print()
    }

    private func json(
        _ settings: Settings, _ findings: [RedisFindings], _ alarms: [Alarm], _ depths: [QueueDepth],
        _ kept: [AppKey: Kept], _ workers: [(name: String, idle: Int, pending: Int)]
    ) -> String {
        let server = JSON.fields([
            "url": .string(settings.redisURL.description),
            "version": .string(findings.first?.info["redis_version"] ?? ""),
            "used_memory": findings.usedMemory.map(JSON.integer),
            "warnings": .array(findings.merged(\.losses).map { .string($0.text) }),
        ])
        let report: JSON = [
            "redis": server,
            "apps": .array(
                depths.map { depth in
                    [
                        "key": .string(depth.app.rawValue), "pushes_high": .integer(depth.pushesHigh),
                        "pushes_low": .integer(depth.pushesLow), "shard_tasks": .integer(depth.shardTasks),
                        "retries_due": .integer(depth.retriesDue),
                        "dead_letters": .integer(kept[depth.app]?.deadLetters ?? 0),
                        "quarantined_names": .integer(kept[depth.app]?.quarantinedNames ?? 0),
                    ]
                }),
            "alarms": .array(
                alarms.map { alarm in
                    [
                        "app": .string(alarm.app.rawValue), "kind": .string(alarm.kind.rawValue),
                        "reason": .string(alarm.reason), "since": .integer(alarm.since),
                    ]
                }),
            "workers": .array(
                workers.map {
                    ["name": .string($0.name), "idle_ms": .integer($0.idle), "pending": .integer($0.pending)]
                }),
        ]
        return report.text
    }

    private static func ago(_ milliseconds: Int) -> String {
        switch milliseconds {
        case ..<1_000: "now"
        case ..<120_000: "\(milliseconds / 1_000) s ago"
        case ..<7_200_000: "\(milliseconds / 60_000) min ago"
        default: "\(milliseconds / 3_600_000) h ago"
        }
    }
}
