import LiveActivity
import Metrics
import PrometheusText
import Store

/// The names of the metrics that this target defines. `fleet` ones are about the deployment. They come from Redis at
/// each scrape, the same in every gateway, so take the `max`. The others are about one process, so take the `sum`.
public enum GatewayMetricName: String, CaseIterable, Sendable {
    case requests = "lamplighter_http_requests_total"
    case requestDuration = "lamplighter_http_request_duration_seconds"
    case requestsInFlight = "lamplighter_http_requests_in_flight"
    case pushes = "lamplighter_pushes_total"
    case schedules = "lamplighter_schedules_total"
    case receipts = "lamplighter_receipts_total"
    case registrations = "lamplighter_registrations_total"
    case queueDepth = "lamplighter_fleet_queue_depth"
    case queueOldest = "lamplighter_fleet_queue_oldest_seconds"
    case schedulesWaiting = "lamplighter_fleet_schedules_waiting"
    case schedulesBehind = "lamplighter_fleet_schedules_behind_seconds"
    case alarms = "lamplighter_fleet_alarms"
    case workers = "lamplighter_fleet_workers"
    case paused = "lamplighter_fleet_paused"
    case broadcasts = "lamplighter_fleet_broadcasts_total"
    case quarantinedNames = "lamplighter_fleet_quarantined_names"
    case deadLetters = "lamplighter_fleet_dead_letters"
    case redisMemory = "lamplighter_fleet_redis_memory_bytes"
    case redisScripts = "lamplighter_fleet_redis_scripts_total"
    case redisScriptTime = "lamplighter_fleet_redis_script_seconds_total"
    case redisReplicas = "lamplighter_fleet_redis_replicas"
    case redisDiskFailing = "lamplighter_fleet_redis_disk_failing"
    case scrapeFailures = "lamplighter_fleet_unread"
    case certificateExpires = "lamplighter_gateway_certificate_expires_seconds"
    /// Metrics of gateways and workers alike, under the names that Prometheus gives them.
    case residentMemory = "process_resident_memory_bytes"
    case cpuTime = "process_cpu_seconds_total"
    case startTime = "process_start_time_seconds"
    case openFiles = "process_open_fds"
    case maximumFiles = "process_max_fds"

    /// The meaning of each metric of this target and of features in it, by its name.
    public static let helps: [String: String] = {
        let own = allCases.map { ($0.rawValue, $0.help) }
        let gauges = FleetCount.all.map { ($0.metric, $0.help) }
        let counters = CounterOfFeature.ofFeatures.map { ($0.name, $0.help) }
        return Dictionary(uniqueKeysWithValues: own + gauges + counters)
    }()

    /// The metrics about the deployment.
    static let ofFleet = helps.keys.filter { $0.hasPrefix("lamplighter_fleet_") }
}

/// A counter of a feature, with the meaning that docs/metrics.md has.
struct CounterOfFeature: Sendable {
    let name: String
    let help: String

    init(_ name: String, _ help: String) { (self.name, self.help) = (name, help) }
}

/// All metrics of this target. Labels are route patterns, app keys and fixed words, so a caller cannot make new series.
struct GatewayMetrics: Sendable {
    private let registry: PrometheusRegistry
    private let requests: RequestMetrics

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        requests = RequestMetrics(registry)
    }

    /// Makes the series at 0 whose first increase is worth an alert. `rate` and `increase` see no increase in the first
    /// value of a series, so a single burst of errors would raise nothing.
    func begin(_ apps: [AppKey], _ routes: [(method: String, pattern: String)]) {
        for app in apps { _ = counter(.pushes, [("app", app.rawValue), ("outcome", "queue_full")]) }
        for (method, pattern) in routes {
            for status in [500, 503] {
                requests.begin(.init(method: method, route: pattern, status: status))
            }
        }
    }

    /// Removes the `fleet` series of all other apps. A reload may have removed an app, whose alerts would never end.
    func keep(_ apps: [AppKey]) {
        let kept = Set(apps.map(\.rawValue))
        for name in GatewayMetricName.ofFleet {
            registry.remove(name) { labels in labels["app"].map { !kept.contains($0) } ?? false }
        }
    }

    /// - Parameter expiry: when the gateway's certificate expires, epoch seconds; nil: it has none
    func certificate(expiresAt expiry: Int64?) {
        guard let expiry else { return registry.remove(GatewayMetricName.certificateExpires.rawValue) }
        gauge(.certificateExpires).set(expiry)
    }

    func requested(method: String, route: String, status: Int, duration: Duration) {
        requests.ended(.init(method: method, route: route, status: status), after: duration)
    }

    func inFlight(_ change: Int) { requests.inFlight.increment(by: Double(change)) }

    func published(_ app: AppKey, outcome: String) {
        counter(.pushes, [("app", app.rawValue), ("outcome", outcome)]).increment()
    }

    func scheduled(_ app: AppKey, outcome: String, count: Int) {
        counter(.schedules, [("app", app.rawValue), ("outcome", outcome)]).increment(by: count)
    }

    func registered(_ app: AppKey, outcome: String, count: Int = 1) {
        guard count > 0 else { return }
        counter(.registrations, [("app", app.rawValue), ("outcome", outcome)]).increment(by: count)
    }

    func receipts(_ app: AppKey, _ tally: ReceiptTally) {
        for (outcome, count) in [("accepted", tally.accepted), ("late", tally.late), ("unknown", tally.unknown)]
        where count > 0 {
            let labels = [("app", app.rawValue), ("outcome", outcome)]
            counter(.receipts, labels).increment(by: count)
        }
    }

    func record(_ depth: QueueDepth) {
        let parts = [
            ("pushes_high", depth.pushesHigh), ("pushes_low", depth.pushesLow), ("shard_tasks", depth.shardTasks),
            ("retries_due", depth.retriesDue),
        ]
        for (kind, value) in parts {
            gauge(.queueDepth, [("app", depth.app.rawValue), ("kind", kind)]).set(value)
        }
    }

    /// The parts of the deployment that they show. The first one decides whether Redis answers.
    static let parts: [Snapshot.Part] = [
        .depths, .ages, .counts, .heartbeats, .pauses, .load, .alarms, .quarantine, .deadLetters, .broadcasts,
    ]

    /// Sets the `fleet` metrics. Metrics of a part that Redis did not answer stay.
    func record(_ snapshot: Snapshot) {
        isUnread(!snapshot.parts.contains(.depths))
        let apps = snapshot.apps.map(\.key)
        for part in snapshot.parts {
            switch part {
            case .depths: for app in snapshot.apps { record(app.depth) }
            case .ages: for app in snapshot.apps { record(app.age) }
            case .counts: snapshot.apps.forEach(counts)
            case .heartbeats: record(snapshot.heartbeats, of: apps, now: snapshot.now)
            case .pauses: record(snapshot.pauses, of: apps)
            case .load: record(snapshot.load)
            case .alarms: record(snapshot.alarms, of: apps)
            case .quarantine: for app in snapshot.apps { quarantined(app.key, names: app.quarantinedNames) }
            case .deadLetters: for app in snapshot.apps { deadLetters(app.key, pushes: app.deadLetters) }
            case .broadcasts: for app in snapshot.apps { broadcasts(app.key, app.broadcasts) }
            case .workers, .pushes: break
            }
        }
    }

    func record(_ age: QueueAge) {
        let parts = [
            ("pushes_high", age.pushesHigh), ("pushes_low", age.pushesLow), ("shard_tasks", age.shardTasks),
            ("retries_due", age.retriesDue),
        ]
        let app = ("app", age.app.rawValue)
        for (kind, milliseconds) in parts {
            gauge(.queueOldest, [app, ("kind", kind)]).set(Double(milliseconds) / 1_000)
        }
        gauge(.schedulesWaiting, [app]).set(age.waitingSchedules)
        gauge(.schedulesBehind, [app]).set(Double(age.schedules) / 1_000)
    }

    private func counts(_ app: Snapshot.App) {
        for count in FleetCount.all {
            guard let number = app.counts[count.metric] else { continue }
            let labels = [("app", app.key.rawValue)]
            Meter(label: count.metric, dimensions: labels, factory: registry).set(number)
        }
    }

    /// - Parameter now: epoch ms of Redis's clock
    func record(_ heartbeats: [Heartbeat], of apps: [AppKey], now: Int64) {
        for app in apps {
            let own = heartbeats.filter { $0.loads[app] != nil }
            let live = own.count { $0.isFresh(now: now) }
            for (state, count) in [("live", live), ("silent", own.count - live)] {
                gauge(.workers, [("app", app.rawValue), ("state", state)]).set(count)
            }
        }
    }

    /// How many names of each app are paused; the app itself counts as one.
    func record(_ pauses: [Pause], of apps: [AppKey]) {
        for app in apps { gauge(.paused, [("app", app.rawValue)]).set(pauses.count { $0.app == app }) }
    }

    func record(_ load: RedisLoad) {
        gauge(.redisMemory, [("kind", "used")]).set(load.usedMemory)
        gauge(.redisMemory, [("kind", "limit")]).set(load.memoryLimit)
        gauge(.redisReplicas).set(load.connectedReplicas)
        gauge(.redisDiskFailing).set(load.isDiskFailing ? 1 : 0)
        for (server, scripts) in load.scripts {
            let labels = [("server", server)]
            registry.set(
                counter: GatewayMetricName.redisScripts.rawValue, dimensions: labels, to: Double(scripts.count))
            registry.set(counter: GatewayMetricName.redisScriptTime.rawValue, dimensions: labels, to: scripts.seconds)
        }
        // A failover makes another server the primary.
        for name in [GatewayMetricName.redisScripts, .redisScriptTime] {
            registry.remove(name.rawValue) { labels in load.scripts[labels["server"] ?? ""] == nil }
        }
    }

    /// Whether Redis did not answer this scrape, so that the `fleet` metrics are from an earlier scrape.
    func isUnread(_ unread: Bool) { gauge(.scrapeFailures).set(unread ? 1 : 0) }

    /// Sets one series for each kind of alarm and each app: 1 while the alarm is raised, else 0.
    func record(_ alarms: [Alarm], of apps: [AppKey]) {
        let raised = Set(alarms.map { [$0.app.rawValue, $0.kind.rawValue] })
        for app in apps {
            for kind in Alarm.Kind.all {
                let labels = [("app", app.rawValue), ("kind", kind.rawValue)]
                gauge(.alarms, labels).set(raised.contains([app.rawValue, kind.rawValue]) ? 1 : 0)
            }
        }
    }

    func quarantined(_ app: AppKey, names: Int) {
        gauge(.quarantinedNames, [("app", app.rawValue)]).set(names)
    }

    func deadLetters(_ app: AppKey, pushes: Int) {
        gauge(.deadLetters, [("app", app.rawValue)]).set(pushes)
    }

    func broadcasts(_ app: AppKey, _ counts: [BroadcastEvent: Int]) {
        for (event, count) in counts {
            let labels = [("app", app.rawValue), ("outcome", event.rawValue)]
            registry.set(counter: GatewayMetricName.broadcasts.rawValue, dimensions: labels, to: Double(count))
        }
    }

    private func gauge(_ name: GatewayMetricName, _ dimensions: [(String, String)] = []) -> Meter {
        Meter(label: name.rawValue, dimensions: dimensions, factory: registry)
    }

    func counter(_ counter: CounterOfFeature, _ dimensions: [(String, String)]) -> Counter {
        Counter(label: counter.name, dimensions: dimensions, factory: registry)
    }

    private func counter(_ name: GatewayMetricName, _ dimensions: [(String, String)]) -> Counter {
        Counter(label: name.rawValue, dimensions: dimensions, factory: registry)
    }
}
