public import CoreMetrics
import Synchronization

/// A swift-metrics backend that renders the Prometheus text format (version 0.0.4). One process has a few hundred
/// series, because labels are route patterns, app keys and reasons, never names or tokens.
///
/// A label (`http.requests`) becomes a name (`http_requests`): characters that Prometheus does not allow are replaced.
/// Counters get the suffix `_total`. Timers become histograms in seconds (`_seconds`), and aggregating recorders become
/// histograms. All others become gauges.
public final class PrometheusRegistry: MetricsFactory {
    /// Upper bounds in seconds, from a Redis round trip to the longest request.
    public static let secondsBuckets: [Double] = [
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    /// Upper bounds in seconds for work that may take an hour, such as a push to millions of tokens.
    public static let longBuckets: [Double] = [
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600,
    ]
    /// Upper bounds for recorders, which hold counts and sizes.
    public static let countBuckets: [Double] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]

    private struct State {
        var families: [String: PrometheusFamily] = [:]
        /// Series by label. Each request looks some up here, because building a series' name is slow.
        var scalars: [SeriesKey: PrometheusScalar] = [:]
        var histograms: [SeriesKey: PrometheusHistogram] = [:]
    }

    private struct SeriesKey: Hashable {
        var label: String
        var suffix: String
        var dimensions: [String]

        init(_ label: String, _ suffix: String, _ dimensions: [(String, String)]) {
            (self.label, self.suffix) = (label, suffix)
            self.dimensions = []
            self.dimensions.reserveCapacity(2 * dimensions.count)
            for (name, value) in dimensions {
                self.dimensions.append(name)
                self.dimensions.append(value)
            }
        }
    }

    private let state = Mutex(State())
    /// The upper bounds of timers that need others than `secondsBuckets`, by name.
    private let bounds: [String: [Double]]

    /// The meaning of each metric, by name.
    private let help: [String: String]

    public init(bounds: [String: [Double]] = [:], help: [String: String] = [:]) {
        (self.bounds, self.help) = (bounds, help)
    }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        scalar(label, suffix: "_total", .counter, dimensions)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        scalar(label, .gauge, dimensions)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return scalar(label, .gauge, dimensions) }
        return histogram(label, Self.countBuckets, dimensions)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(
            label, suffix: "_seconds",
            bounds[PrometheusName.name(label, suffix: "_seconds")] ?? Self.secondsBuckets, dimensions)
    }

    // Series live until `remove`, because a counter that disappears would look like a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// Sets a counter that is counted elsewhere, such as in Redis.
    public func set(counter label: String, dimensions: [(String, String)] = [], to value: Double) {
        scalar(label, suffix: "_total", .counter, dimensions).set(value)
    }

    /// Removes series of a counter or gauge about something that is gone, such as an app that a reload has removed. An
    /// alert about their last value would never end. A handle that was made before changes no series any more.
    /// - Parameter isGone: takes the labels of a series; without it, all series of the name go
    public func remove(_ name: String, where isGone: ([String: String]) -> Bool = { _ in true }) {
        let known = state.withLock { $0.families[name]?.scalars } ?? [:]
        let gone = known.filter { isGone($0.value.labels) }
        if gone.isEmpty { return }
        let series = Set(gone.values.map { ObjectIdentifier($0) })
        state.withLock { state in
            for labels in gone.keys { state.families[name]?.scalars[labels] = nil }
            if state.families[name]?.isEmpty == true { state.families[name] = nil }
            state.scalars = state.scalars.filter { !series.contains(ObjectIdentifier($0.value)) }
        }
    }

    /// The values of a counter or gauge now, one for each set of labels. Empty for a name without series.
    public func snapshot(of name: String) -> [PrometheusSample] {
        state.withLock { $0.families[name] }?.scalars.values
            .map { PrometheusSample(labels: $0.labels, value: $0.value) } ?? []
    }

    /// Renders all series, ordered by name and labels.
    public func text() -> String {
        let families = state.withLock { $0.families }
        var out = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = help[name] { out += "# HELP \(name) \(PrometheusName.escapedHelp(help))\n" }
            out += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, scalar) in family.scalars.sorted(by: { $0.key < $1.key }) {
                out += "\(name)\(PrometheusName.braces(labels)) \(PrometheusName.number(scalar.value))\n"
            }
            for (labels, histogram) in family.histograms.sorted(by: { $0.key < $1.key }) {
                histogram.render(name: name, labels: labels, to: &out)
            }
        }
        return out
    }

    private func scalar(
        _ label: String, suffix: String = "", _ kind: PrometheusFamily.Kind, _ dimensions: [(String, String)]
    ) -> PrometheusScalar {
        let key = SeriesKey(label, suffix, dimensions)
        return state.withLock { state in
            if let known = state.scalars[key] { return known }
            let (name, labels) = (PrometheusName.name(label, suffix: suffix), PrometheusName.labels(dimensions))
            let scalar = state.families[name]?.scalars[labels] ?? PrometheusScalar(dimensions)
            state.families[name, default: PrometheusFamily(kind: kind)].scalars[labels] = scalar
            state.scalars[key] = scalar
            return scalar
        }
    }

    private func histogram(
        _ label: String, suffix: String = "", _ bounds: [Double], _ dimensions: [(String, String)]
    ) -> PrometheusHistogram {
        let key = SeriesKey(label, suffix, dimensions)
        return state.withLock { state in
            if let known = state.histograms[key] { return known }
            let (name, labels) = (PrometheusName.name(label, suffix: suffix), PrometheusName.labels(dimensions))
            let histogram = state.families[name]?.histograms[labels] ?? PrometheusHistogram(bounds: bounds)
            state.families[name, default: PrometheusFamily(kind: .histogram)].histograms[labels] = histogram
            state.histograms[key] = histogram
            return histogram
        }
    }
}

/// All series of one name, by their rendered labels.
struct PrometheusFamily {
    enum Kind: String { case counter, gauge, histogram }

    let kind: Kind
    var scalars: [String: PrometheusScalar] = [:]
    var histograms: [String: PrometheusHistogram] = [:]
    var isEmpty: Bool { scalars.isEmpty && histograms.isEmpty }
}
