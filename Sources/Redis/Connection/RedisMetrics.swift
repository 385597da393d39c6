internal import Metrics

/// The names of the metrics that this target defines. Each process counts its own calls.
public enum RedisMetricName: String, CaseIterable, Sendable {
    case roundTrip = "lamplighter_redis_round_trip_seconds"
    case errors = "lamplighter_redis_errors_total"
    case connections = "lamplighter_redis_connections_total"

    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .roundTrip: "a batch of commands to Redis, without reads that wait for work"
        case .errors: "error replies (oom, misconf, readonly, loading, noperm, unsupported, …), unreachable, lost"
        case .connections: "connections: opened, failed, dropped"
        }
    }
}

/// The handles of a client's metrics, made once for all of its connections.
struct RedisMetrics: Sendable {
    /// The fate of a connection.
    enum ConnectionEvent: String, CaseIterable { case opened, failed, dropped }

    /// The first words of error replies that an operator acts on. All others count as `other`.
    private static let codes = [
        "OOM", "MISCONF", "READONLY", "NOSCRIPT", "LOADING", "BUSY", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN",
        "MASTERDOWN", "NOREPLICAS", "NOAUTH", "NOPERM", "UNSUPPORTED", "WRONGPASS",
    ]
    private static let failures = ["unreachable", "lost", "other"]

    private let roundTrip: Timer
    private let errors: [String: Counter]
    private let connections: [ConnectionEvent: Counter]

    /// Metrics that nobody reads: for questions to sentinels, which may be away while Redis is well.
    static var none: RedisMetrics { RedisMetrics(NOOPMetricsHandler.instance) }

    init(_ factory: any MetricsFactory = MetricsSystem.factory) {
        roundTrip = Timer(label: RedisMetricName.roundTrip.rawValue, dimensions: [], factory: factory)
        let kinds = Self.codes.map { $0.lowercased() } + Self.failures
        errors = Dictionary(
            uniqueKeysWithValues: kinds.map {
                ($0, Counter(label: RedisMetricName.errors.rawValue, dimensions: [("kind", $0)], factory: factory))
            })
        connections = Dictionary(
            uniqueKeysWithValues: ConnectionEvent.allCases.map {
                (
                    $0,
                    Counter(
                        label: RedisMetricName.connections.rawValue, dimensions: [("event", $0.rawValue)],
                        factory: factory)
                )
            })
    }

    /// Counts a batch's way there and back. Call it once for a batch, not for each command.
    func exchanged(in duration: Duration) { roundTrip.record(duration: duration) }

    func failed(_ error: RedisError) {
        switch error {
        case .unreachable, .server("FAILOVER", _), .server("NOMASTER", _): errors["unreachable"]?.increment()
        case .lost: errors["lost"]?.increment()
        case .closed: break
        case .server(let code, _): answered(error: code)
        default: errors["other"]?.increment()
        }
    }

    /// Counts an error reply. A group that exists already is no fault: each worker asks for it at its start.
    func answered(error code: String) {
        guard code != "BUSYGROUP" else { return }
        (errors[code.lowercased()] ?? errors["other"])?.increment()
    }

    func connection(_ event: ConnectionEvent) { connections[event]?.increment() }
}
