import Metrics
import PrometheusText
import Synchronization

/// The metrics that each request changes. They are looked up once for each kind of request, because that takes longer
/// than to change them.
final class RequestMetrics: Sendable {
    struct Kind: Hashable {
        var method: String
        var route: String
        var status: Int
    }

    private typealias Series = (count: Counter, duration: Timer)

    let inFlight: Meter
    private let registry: PrometheusRegistry
    private let known = Mutex<[Kind: Series]>([:])

    init(_ registry: PrometheusRegistry) {
        self.registry = registry
        inFlight = Meter(label: GatewayMetricName.requestsInFlight.rawValue, factory: registry)
    }

    func ended(_ kind: Kind, after duration: Duration) {
        let series = known.withLock { known in
            if let series = known[kind] { return series }
            let series = make(kind)
            known[kind] = series
            return series
        }
        series.count.increment()
        series.duration.record(duration: duration)
    }

    /// Makes the count of a kind of requests at 0, before there is one.
    func begin(_ kind: Kind) { _ = count(kind) }

    private func make(_ kind: Kind) -> Series {
        let dimensions = [("method", kind.method), ("route", kind.route)]
        return (
            count(kind),
            Timer(label: GatewayMetricName.requestDuration.rawValue, dimensions: dimensions, factory: registry)
        )
    }

    private func count(_ kind: Kind) -> Counter {
        Counter(
            label: GatewayMetricName.requests.rawValue,
            dimensions: [("method", kind.method), ("route", kind.route), ("status", "\(kind.status)")],
            factory: registry)
    }
}
