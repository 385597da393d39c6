import CoreMetrics
import Synchronization

/// The value of one series at one moment.
public struct PrometheusSample: Sendable, Hashable {
    public let labels: [String: String]
    public let value: Double
}

/// One number that is increased (counter) or set (gauge). It is a double, so sums are exact up to 2^53.
final class PrometheusScalar: CounterHandler, MeterHandler, RecorderHandler {
    let labels: [String: String]
    private let state = Mutex<Double>(0)

    init(_ dimensions: [(String, String)]) { labels = Dictionary(dimensions, uniquingKeysWith: { first, _ in first }) }

    var value: Double { state.withLock { $0 } }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0 += amount } }
    func decrement(by amount: Double) { state.withLock { $0 -= amount } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0 = value } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { set(0.0) }
}

/// Counts observations in fixed buckets and sums them.
final class PrometheusHistogram: RecorderHandler, TimerHandler {
    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    /// Upper bounds, ascending. One further bucket holds the larger values.
    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func render(name: String, labels: String, to out: inout String) {
        let state = state.withLock { $0 }
        var cumulative = 0
        for (position, count) in state.counts.enumerated() {
            cumulative += count
            let bound = position < bounds.count ? PrometheusName.number(bounds[position]) : "+Inf"
            let separator = labels.isEmpty ? "" : ","
            out += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(cumulative)\n"
        }
        out += "\(name)_sum\(PrometheusName.braces(labels)) \(PrometheusName.number(state.sum))\n"
        out += "\(name)_count\(PrometheusName.braces(labels)) \(cumulative)\n"
    }
}
