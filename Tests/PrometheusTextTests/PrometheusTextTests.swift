import Metrics
import PrometheusText
import Testing

@Suite struct PrometheusTextTests {
    @Test func `renders counters, gauges and histograms`() {
        let registry = PrometheusRegistry()
        let requests = Counter(
            label: "http.requests", dimensions: [("route", "/a\"b"), ("code", "200")], factory: registry)
        requests.increment(by: 2)
        // A second instrument with the same name and labels is the same series, whatever the order of its labels.
        Counter(label: "http.requests", dimensions: [("code", "200"), ("route", "/a\"b")], factory: registry)
            .increment()
        let depth = Meter(label: "queue-depth", factory: registry)
        depth.set(5)
        depth.decrement(by: 1.5)
        let timer = Timer(label: "http.duration", factory: registry)
        timer.recordNanoseconds(500_000)
        timer.recordNanoseconds(40_000_000_000)
        let text = registry.text()
        #expect(
            text.contains("# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\",route=\"/a\\\"b\"} 3\n")
        )
        #expect(text.contains("# TYPE queue_depth gauge\nqueue_depth 3.5\n"))
        #expect(
            text.contains("# TYPE http_duration_seconds histogram\nhttp_duration_seconds_bucket{le=\"0.0005\"} 1\n"))
        #expect(
            text.contains("http_duration_seconds_bucket{le=\"30\"} 1\nhttp_duration_seconds_bucket{le=\"+Inf\"} 2\n"))
        #expect(text.contains("http_duration_seconds_sum 40.0005\nhttp_duration_seconds_count 2\n"))
    }

    @Test func `help stands above the type of each metric that has one`() {
        let registry = PrometheusRegistry(help: ["depth": "lines \"a\"\nand a \\", "absent": "unused"])
        Meter(label: "depth", factory: registry).set(1)
        Meter(label: "other", factory: registry).set(2)
        #expect(
            registry.text()
                == #"# HELP depth lines "a"\nand a \\"# + "\n# TYPE depth gauge\ndepth 1\n# TYPE other gauge\nother 2\n"
        )
    }

    @Test func `a snapshot holds each series of a name with its labels`() {
        let registry = PrometheusRegistry()
        for (app, count) in [("a", 7), ("b", 5)] {
            Counter(label: "tokens_total", dimensions: [("app", app)], factory: registry).increment(by: count)
        }
        let samples = registry.snapshot(of: "tokens_total").map { "\($0.labels) \($0.value)" }
        #expect(samples.sorted() == [#"["app": "a"] 7.0"#, #"["app": "b"] 5.0"#])
        #expect(registry.snapshot(of: "tokens").isEmpty)
    }

    @Test func `series that are removed are gone, and begin again when they are made again`() {
        let registry = PrometheusRegistry()
        for app in ["a", "b"] {
            Meter(label: "fleet_workers", dimensions: [("app", app), ("state", "live")], factory: registry).set(3)
        }
        Meter(label: "fleet_unread", factory: registry).set(1)
        registry.remove("fleet_workers") { $0["app"] == "b" }
        #expect(registry.snapshot(of: "fleet_workers").map(\.labels) == [["app": "a", "state": "live"]])
        registry.remove("fleet_workers") { $0["app"] == "b" }
        registry.remove("fleet_unread")
        registry.remove("unknown")
        #expect(registry.text() == "# TYPE fleet_workers gauge\nfleet_workers{app=\"a\",state=\"live\"} 3\n")
        Meter(label: "fleet_workers", dimensions: [("app", "b"), ("state", "live")], factory: registry).increment(by: 2)
        #expect(registry.text().hasSuffix("fleet_workers{app=\"b\",state=\"live\"} 2\n"))
    }

    @Test func `loses nothing under concurrent use`() async {
        let registry = PrometheusRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 { Counter(label: "hits", factory: registry).increment() }
                }
            }
        }
        #expect(registry.text() == "# TYPE hits_total counter\nhits_total 8000\n")
    }
}
