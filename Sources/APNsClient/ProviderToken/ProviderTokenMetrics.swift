internal import Metrics

/// The names of the metrics of provider tokens.
public enum ProviderTokenMetricName: String, CaseIterable, Sendable {
    case issued = "lamplighter_provider_token_issued_timestamp_seconds"
    case renewals = "lamplighter_provider_token_renewals_total"

    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .issued: "when the provider token in use was signed, since 1970"
        case .renewals:
            "new provider tokens: due; rejected: APNs called the last one expired; fallback: APNs called a "
                + "new one too many"
        }
    }
}

/// The handles of the metrics of one app's provider tokens.
struct ProviderTokenMetrics: Sendable {
    enum RenewalCause: String, CaseIterable {
        /// The token was old enough, or the first one.
        case due
        /// APNs called it expired.
        case rejected
        /// APNs called a new one too many, so the one before is used.
        case fallback
    }

    private let issued: Meter
    private let renewals: [RenewalCause: Counter]

    init(app: String) {
        let labels = [("app", app)]
        issued = Meter(label: ProviderTokenMetricName.issued.rawValue, dimensions: labels)
        renewals = Dictionary(
            uniqueKeysWithValues: RenewalCause.allCases.map { cause in
                let label = ProviderTokenMetricName.renewals.rawValue
                return (cause, Counter(label: label, dimensions: labels + [("cause", cause.rawValue)]))
            })
    }

    /// - Parameter time: when the token was signed, epoch seconds
    func adopted(issuedAt time: Int, _ cause: RenewalCause) {
        issued.set(Double(time))
        renewals[cause]?.increment()
    }
}
