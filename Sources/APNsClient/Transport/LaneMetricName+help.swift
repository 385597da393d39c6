extension LaneMetricName {
    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .roundTrip: "a request to APNs and its answer (one of 32)"
        case .inFlight: "requests to APNs without an answer"
        case .leftOpen: "requests whose page was settled before their answer"
        case .streams: "requests that may be in flight at once"
        case .connections: "connections that have answered"
        case .opened: "connections that have answered, since the start"
        case .ended: "connections that take no more requests: goaway, silent, full, refused, answer, lost, closed"
        case .failures: "connections not made or never answered: timeout, tls, failed"
        case .tokenIssued: "when the provider token in use was signed, since 1970"
        case .tokenRenewals:
            "new provider tokens: due; rejected: APNs called the last one expired; fallback: APNs called a "
                + "new one too many"
        }
    }
}
