import LiveActivity
import Logging
import PrometheusText
import Redis
import ServiceLifecycle
import Store

/// Tells operators when Redis refuses commands because the user in `redis.url` lacks a right. Many of these commands
/// are tried again or left out, so that nothing else would show it. The alarm ends a while after the last refusal.
struct RightsWatch: Service {
    private static let interval: Duration = .seconds(5)

    let registry: PrometheusRegistry
    let store: Store
    let apps: [AppKey]
    /// Names this process in the alarm.
    let process: String
    let logger: Logger

    func run() async {
        // At its start a process has tried all that it needs. It was refused the rest, and says so then.
        var told = refused
        while !Task.isShuttingDownGracefully {
            let refused = self.refused
            if refused > told {
                let reason = "Redis refused commands (\(refused)), see its ACL LOG and 'lamplighter doctor'"
                logger.error("\(reason)")
                // Without the right to run scripts there is no alarm either, so the log has it too.
                for app in apps { try? await store.alarms.raise(app, .redisRights, "\(process): \(reason)") }
                told = self.refused
            }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }

    /// The commands that this process was refused, because of a right or because the server does not know them.
    private var refused: Int {
        registry.snapshot(of: RedisMetricName.errors.rawValue)
            .filter { ["noperm", "unsupported"].contains($0.labels["kind"] ?? "") }
            .reduce(0) { $0 + Int($1.value) }
    }
}
