extension LaneMetricName {
    /// The meaning of the metric, as in docs/metrics.md.
    public func help(for platform: PlatformName) -> String {
        switch self {
        case .roundTrip: "a request to \(platform.title) and its answer (one of 32)"
        case .inFlight: "requests to \(platform.title) without an answer"
        case .leftOpen: "requests whose page was settled before their answer"
        case .streams: "requests that may be in flight at once"
        case .connections: "connections that have answered"
        case .opened: "connections that have answered, since the start"
        case .ended: "connections that take no more requests: goaway, silent, full, refused, answer, lost, closed"
        case .failures: "connections not made or never answered: timeout, tls, failed"
        }
    }
}
