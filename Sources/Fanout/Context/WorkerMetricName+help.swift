extension WorkerMetricName {
    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .tokens: "targets by outcome"
        case .retries: "attempts after the first"
        case .duplicatesPossible:
            "attempts after a request that may have arrived, also of a worker that was killed or suspended"
        case .rejections: "answers other than 200 and missing answers; a page that was refused as a whole counts once"
        case .quarantined: "tokens that the prune guard quarantined"
        case .pagesInFlight: "pages whose answers have not all come"
        case .circuitOpen: "1 while this worker sends nothing of the app to the platform but a probe"
        case .firstToken: "from the 202 to the answers to the first page that delivered, for each platform of the page"
        case .lastToken: "from the 202 to the last outcome on all platforms, retries too"
        case .pushesEnded:
            "pushes that this worker ended: done, failed, expired, superseded; not those that a gateway "
                + "ended"
        case .arrival: "from the 202 to the platform's answers, once for each page, retries too"
        case .claims:
            "leases: claimed; lapsed: the last owner crashed or stalled, its pages in flight are sent again; "
                + "held by another worker; poison: too many owners in a row crashed, the task is given up"
        case .leasesLost: "leases taken by another worker, or expired while Redis was away"
        case .takenOver: "stream entries that other workers left"
        }
    }
}
