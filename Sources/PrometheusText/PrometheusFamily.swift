/// All series of one name, by their rendered labels.
struct PrometheusFamily {
    enum Kind: String { case counter, gauge, histogram }

    let kind: Kind
    var scalars: [String: PrometheusScalar] = [:]
    var histograms: [String: PrometheusHistogram] = [:]
    var isEmpty: Bool { scalars.isEmpty && histograms.isEmpty }
}
