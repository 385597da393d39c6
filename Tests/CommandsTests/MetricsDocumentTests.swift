import APNsClient
import FCMClient
import Fanout
import Foundation
import HTTPAPI
import Lanes
import Redis
import Spans
import TestSupport
import Testing

@testable import Commands

/// Holds docs/metrics.md, the dashboard and the alerts against the names that the code exports.
@Suite("Metrics in documents")
struct MetricsDocumentTests {
    private static let names = [
        Array(GatewayMetricName.helps.keys), WorkerMetricName.allCases.map(\.rawValue),
        ProcessFeature.ofFeatures.flatMap { $0.metrics.keys },
        LaneMetricName.allCases.flatMap { [$0.name(for: .apns), $0.name(for: .fcm)] },
        ProviderTokenMetricName.allCases.map(\.rawValue),
        RedisMetricName.allCases.map(\.rawValue), SpanMetricName.allCases.map(\.rawValue),
    ]
    private static let exported = Set(names.joined())

    @Test func `no two targets export the same name`() {
        #expect(Self.exported.count == Self.names.reduce(0) { $0 + $1.count })
    }

    @Test func `docs/metrics md describes every exported metric, and no other`() throws {
        let rows = try Repository.text("docs/metrics.md").matches(
            of: /(?m)^\| `([a-z_]+)` \| (counter|gauge|histogram) \|[^|]*\| (.+) \|$/)
        let described = rows.map { String($0.1) }
        #expect(Set(described).count == described.count, "a metric has two rows")
        #expect(Self.exported.subtracting(described).isEmpty && Set(described).subtracting(Self.exported).isEmpty)
        // The end of a name says its type.
        for row in rows { #expect(row.1.hasSuffix("_total") == (row.2 == "counter"), "\(row.1)") }
        // Prometheus shows the same words.
        for row in rows {
            let words = row.3.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }.replacing("`", with: "")
            #expect(MetricHelp.texts[String(row.1)] == String(words), "\(row.1)")
        }
    }

    @Test(arguments: ["config/prometheus-alerts.yaml", "config/grafana-dashboard.json"])
    func `names in use are exported`(path: String) throws {
        let names = try Repository.text(path).matches(of: /\b(lamplighter|process)_[a-z_]+[a-z]/).map { String($0.0) }
        #expect(!names.isEmpty)
        for name in Set(names) {
            let base = name.replacing(/_(bucket|sum|count)$/, with: "")
            #expect(Self.exported.contains(name) || Self.exported.contains(base), "\(path): \(name)")
        }
    }

    @Test func `every alert has a runbook, and every runbook an alert`() throws {
        let rules = try Repository.text("config/prometheus-alerts.yaml")
        let alerts = rules.matches(of: /- alert: (\w+)/).map { String($0.1) }
        let runbooks = try Repository.text("docs/runbooks.md").matches(of: /(?m)^### (Lamplighter\w+)$/).map {
            String($0.1)
        }
        #expect(!alerts.isEmpty && Set(alerts) == Set(runbooks) && Set(alerts).count == alerts.count)
        for alert in alerts { #expect(rules.contains("runbook: docs/runbooks.md#\(alert.lowercased())"), "\(alert)") }
        // bin/alerts provokes each of them.
        let provoked = try Repository.text("Tests/Scripts/alerts.py")
        for alert in alerts { #expect(provoked.contains(alert), "bin/alerts does not provoke \(alert)") }
    }

    /// Every question of the dashboard is one that Prometheus can read; promtool reads the rules (bin/alerts).
    @Test func `the dashboard is JSON with a question in each panel`() throws {
        let data = Data(try Repository.text("config/grafana-dashboard.json").utf8)
        let dashboard = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        for panel in panels where panel["type"] as? String != "row" {
            let targets = try #require(panel["targets"] as? [[String: Any]])
            #expect(targets.allSatisfy { ($0["expr"] as? String)?.isEmpty == false }, "\(panel["title"] ?? "")")
        }
    }
}
