import LiveActivity
import PrometheusText
import Redis
import ServiceLifecycle
import Store

/// Tells operators when Redis refuses commands because the user in `redis.url` lacks a right. Many of these commands are
/// tried again or left out, so that nothing else would show it. The alarm ends a while after the last refusal.
struct RightsWatch: Service {
    private static let interval: Duration = .seconds(5)

    let registry: PrometheusRegistry
    let store: Store
    let apps: [AppKey]
    /// Names this process in the alarm.
    let process: String

    func run() async {
        var told = 0
        while !Task.isShuttingDownGracefully {
            let refused = self.refused
            if refused > told {
                let reason = "\(process): Redis refused commands (\(refused)), see its ACL LOG"
                for app in apps { try? await store.alarms.raise(app, .redisRights, reason) }
                told = refused
            }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }

    /// The commands that this process was refused.
    private var refused: Int {
        registry.snapshot(of: RedisMetricName.errors.rawValue)
            .filter { $0.labels["kind"] == "noperm" }.reduce(0) { $0 + Int($1.value) }
    }
}
