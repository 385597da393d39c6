import APNsClient
import Fanout
import HTTPAPI
import Lanes
import Redis
import Spans

/// The meaning of each metric of a gateway or worker, by name. `MetricsDocumentTests` compares docs/metrics.md with it.
enum MetricHelp {
    static let texts: [String: String] = {
        var texts = GatewayMetricName.helps
        for name in WorkerMetricName.allCases { texts[name.rawValue] = name.help }
        for platform in WorkerReload.platforms.map({ $0.name }) {
            for name in LaneMetricName.allCases { texts[name.name(for: platform)] = name.help(for: platform) }
        }
        for name in ProviderTokenMetricName.allCases { texts[name.rawValue] = name.help }
        for name in RedisMetricName.allCases { texts[name.rawValue] = name.help }
        for name in SpanMetricName.allCases { texts[name.rawValue] = name.help }
        for feature in ProcessFeature.ofFeatures { texts.merge(feature.metrics) { $1 } }
        return texts
    }()
}
