import LiveActivity
import Metrics
import PrometheusText
import Store

/// All metrics of this target. Labels are route patterns, app keys and fixed words, so a caller cannot make new series.
/// `lamplighter_fleet_` names are about the deployment. They come from Redis at each scrape, the same in every gateway.
struct GatewayMetrics: Sendable {
    private let registry: PrometheusRegistry
    init(_ registry: PrometheusRegistry) { self.registry = registry }

    func requested(method: String, route: String, status: Int, duration: Duration) {
        let dimensions = [("method", method), ("route", route)]
        counter("lamplighter_http_requests_total", dimensions + [("status", "\(status)")]).increment()
        Timer(label: "lamplighter_http_request_duration_seconds", dimensions: dimensions, factory: registry)
            .record(duration: duration)
    }

    func inFlight(_ change: Int) {
        Meter(label: "lamplighter_http_requests_in_flight", factory: registry).increment(by: Double(change))
    }

    func published(_ app: AppKey, outcome: String) {
        counter("lamplighter_pushes_total", [("app", app.rawValue), ("outcome", outcome)]).increment()
    }

    func scheduled(_ app: AppKey, outcome: String, count: Int) {
        counter("lamplighter_schedules_total", [("app", app.rawValue), ("outcome", outcome)]).increment(by: count)
    }

    func registered(_ app: AppKey, outcome: String, count: Int = 1) {
        guard count > 0 else { return }
        counter("lamplighter_registrations_total", [("app", app.rawValue), ("outcome", outcome)]).increment(by: count)
    }

    func receipts(_ app: AppKey, _ tally: ReceiptTally) {
        for (outcome, count) in [("accepted", tally.accepted), ("late", tally.late), ("unknown", tally.unknown)]
        where count > 0 {
            let labels = [("app", app.rawValue), ("outcome", outcome)]
            counter("lamplighter_receipts_total", labels).increment(by: count)
        }
    }

    func record(_ depth: QueueDepth) {
        let parts = [
            ("pushes_high", depth.pushesHigh), ("pushes_low", depth.pushesLow), ("shard_tasks", depth.shardTasks),
            ("retries_due", depth.retriesDue),
        ]
        for (kind, value) in parts {
            gauge("lamplighter_fleet_queue_depth", [("app", depth.app.rawValue), ("kind", kind)]).set(value)
        }
    }

    /// Sets one series for each kind of alarm and each app: 1 while the alarm is raised, else 0.
    func record(_ alarms: [Alarm], of apps: [AppKey]) {
        let raised = Set(alarms.map { [$0.app.rawValue, $0.kind.rawValue] })
        for app in apps {
            for kind in Alarm.Kind.allCases {
                let labels = [("app", app.rawValue), ("kind", kind.rawValue)]
                gauge("lamplighter_fleet_alarms", labels).set(raised.contains([app.rawValue, kind.rawValue]) ? 1 : 0)
            }
        }
    }

    func quarantined(_ app: AppKey, names: Int) {
        gauge("lamplighter_fleet_quarantined_names", [("app", app.rawValue)]).set(names)
    }

    func deadLetters(_ app: AppKey, pushes: Int) {
        gauge("lamplighter_fleet_dead_letters", [("app", app.rawValue)]).set(pushes)
    }

    func webhook(_ app: AppKey, _ status: WebhookStatus) {
        let labels = [("app", app.rawValue)]
        gauge("lamplighter_fleet_webhook_waiting", labels).set(status.waiting)
        gauge("lamplighter_fleet_webhook_dead", labels).set(status.dead)
    }

    func broadcasts(_ app: AppKey, _ counts: [BroadcastEvent: Int]) {
        for (event, count) in counts {
            let labels = [("app", app.rawValue), ("outcome", event.rawValue)]
            registry.set(counter: "lamplighter_fleet_broadcasts_total", dimensions: labels, to: count)
        }
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Meter {
        Meter(label: label, dimensions: dimensions, factory: registry)
    }

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> Counter {
        Counter(label: label, dimensions: dimensions, factory: registry)
    }
}
