import LiveActivity
import PrometheusText
import Testing

@testable import HTTPAPI
@testable import Store

/// The gateway's metrics as values, without a gateway.
@Suite struct GatewayMetricsTests {
    private let registry = PrometheusRegistry()
    private var metrics: GatewayMetrics { GatewayMetrics(registry) }
    private let shop = try! AppKey("shop")
    private let news = try! AppKey("news")

    /// `increase` sees no increase in a series that begins with its first error.
    @Test func `what raises an alert begins at 0`() {
        metrics.begin([shop, news], Endpoint.routes)
        let text = registry.text()
        for app in ["shop", "news"] {
            #expect(text.contains(#"lamplighter_pushes_total{app="\#(app)",outcome="queue_full"} 0"#))
        }
        for endpoint in Endpoint.all {
            for status in [500, 503] {
                let labels = #"method="\#(endpoint.method)",route="\#(endpoint.pattern)",status="\#(status)""#
                #expect(text.contains("lamplighter_http_requests_total{\(labels)} 0\n"), "\(labels)")
            }
        }
        #expect(!text.contains("lamplighter_http_request_duration_seconds"), "there was no request")
        metrics.published(shop, outcome: "queue_full")
        metrics.begin([shop, news], Endpoint.routes)
        #expect(registry.text().contains(#"lamplighter_pushes_total{app="shop",outcome="queue_full"} 1"#))
    }

    @Test func `only apps that are served keep their fleet series`() {
        metrics.begin([shop, news], Endpoint.routes)
        metrics.record([], of: [shop, news], now: 0)
        metrics.record([Alarm](), of: [shop, news])
        metrics.isUnread(false)
        metrics.keep([shop])
        let lines = registry.text().split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("lamplighter_fleet_") && $0.contains("news") })
        #expect(lines.contains(#"lamplighter_fleet_workers{app="shop",state="live"} 0"#))
        #expect(lines.contains("lamplighter_fleet_unread 0"), "it is about no app")
        #expect(lines.contains(#"lamplighter_pushes_total{app="news",outcome="queue_full"} 0"#), "not of the fleet")
    }

    @Test func `each server of Redis has its own scripts, as long as it is a primary`() {
        var load = RedisLoad()
        load.scripts = ["a:1": .init(count: 3, seconds: 1.5), "b:1": .init(count: 1, seconds: 0.25)]
        metrics.record(load)
        #expect(registry.text().contains(#"lamplighter_fleet_redis_script_seconds_total{server="a:1"} 1.5"#))
        #expect(registry.text().contains(#"lamplighter_fleet_redis_scripts_total{server="b:1"} 1"#))
        load.scripts["a:1"] = nil
        metrics.record(load)
        for name in ["lamplighter_fleet_redis_script_seconds_total", "lamplighter_fleet_redis_scripts_total"] {
            #expect(registry.snapshot(of: name).map(\.labels) == [["server": "b:1"]])
        }
    }

    @Test func `a gateway without a certificate says nothing about one`() {
        metrics.certificate(expiresAt: 1_800_000_000)
        #expect(registry.text().contains("lamplighter_gateway_certificate_expires_seconds 1800000000\n"))
        metrics.certificate(expiresAt: nil)
        #expect(!registry.text().contains("certificate"))
    }
}
