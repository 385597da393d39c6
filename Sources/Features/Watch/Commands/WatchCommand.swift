import ArgumentParser
import Redis
import Settings
import Store

struct WatchCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "watch", "Show a page about the deployment that is drawn again and again.",
        details: """
            The page has workers, rates, queues and their ages, reasons, alarms and the pushes under way. s sorts it, ? \
            explains it, and q or Ctrl-C ends it. Without a terminal the command prints page after page, and with --json a \
            line each. It reads Redis itself, so it works without a gateway.
            """,
        examples: "watch", "watch --interval 10 --json", "watch --redis-url redis://10.0.0.5:6379/0")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Option(help: .value("seconds", "Time from one page to the next, 0.5 to 3600.")) var interval = 2.0

    func check() throws {
        guard (0.5...3_600).contains(interval) else { throw ValidationError("--interval takes 0.5 to 3600 seconds") }
    }

    func run() async throws {
        let settings = try global.settings(redis.given)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("watch", settings))
        try await store.checkFormat()
        let findings = try await RedisInspection.findings(store.redis, settings)
        let version = findings.first?.version.text ?? "Redis"
        try await WatchRun(
            store: store, keys: settings.apps.map(\.key), redis: "\(version) at \(settings.redisURL)",
            interval: .seconds(interval), isJSON: global.json
        ).run()
        await store.redis.close()
    }
}
