import Logging
import StrictJSON
import TestSupport
import Testing

@testable import Spans

@Suite("Spans for a collector") struct SpanExporterTests {
    private static let context = TraceContext("00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01")!
    private static let span = Span(
        "page", .client, context, parent: "eee19b7ec3c1b173", start: 1_544_712_660_000_000_000,
        end: 1_544_712_661_000_000_000,
        [.init("lamplighter.tokens", .count(3)), .init("lamplighter.app", .text("shop"))])

    private func exporter(
        _ endpoint: String, share: Double = 0, headers: [SpanExporter.Options.Header] = [], caFile: String? = nil,
        _ logger: Logger = .quiet
    ) -> SpanExporter {
        SpanExporter(
            .init(endpoint: endpoint, share: share, headers: headers, caFile: caFile), kind: "worker",
            instance: "one", version: "1.2.3", logger: logger)
    }

    /// The form of the example in opentelemetry-proto (examples/trace.json).
    @Test func `the request has the form of OTLP's JSON`() {
        let text = String(decoding: exporter("http://collector:4318").body([Self.span]), as: UTF8.self)
        #expect(
            text == """
                {"resourceSpans":[{"resource":{"attributes":[\
                {"key":"service.name","value":{"stringValue":"lamplighter-worker"}},\
                {"key":"service.instance.id","value":{"stringValue":"one"}},\
                {"key":"service.version","value":{"stringValue":"1.2.3"}}]},\
                "scopeSpans":[{"scope":{"name":"lamplighter"},"spans":[{\
                "traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",\
                "parentSpanId":"eee19b7ec3c1b173","name":"page","kind":3,\
                "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",\
                "attributes":[{"key":"lamplighter.tokens","value":{"intValue":"3"}},\
                {"key":"lamplighter.app","value":{"stringValue":"shop"}}]}]}]}]}
                """)
    }

    @Test func `a failed span says why, and none ends before it begins`() {
        let span = Span("begin", .inside, Self.context, parent: nil, start: 9, end: 5, failure: "Unreachable")
        #expect(span.end == 9)
        let text = span.json.text
        #expect(text.contains(#""status":{"code":2,"message":"Unreachable"}"#) && !text.contains("parentSpanId"))
    }

    @Test func `a traceparent decides, and without one the share does`() throws {
        let (never, always) = (exporter("http://c", share: 0), exporter("http://c", share: 1))
        let header = Self.context.header
        let (context, parent) = try #require(never.sample(header))
        #expect(context.trace == Self.context.trace && context.span != Self.context.span)
        #expect(parent == Self.context.span)
        #expect(always.sample(header.dropLast(2) + "00") == nil)
        #expect(never.sample(nil) == nil && never.sample("nonsense") == nil)
        let (root, none) = try #require(always.sample("nonsense"))
        #expect(none == nil && root.isSampled)
    }

    @Test func `spans reach the collector, and what waits at the end does too`() async throws {
        let collector = try HTTPSReceiver { _ in .status(200, body: Array("{}".utf8)) }
        let endpoint = String(collector.url.dropLast("/hook".count))
        let exporter = exporter(endpoint, headers: [.init("x-key", "secret")], caFile: collector.caFile)
        let run = Task { await exporter.run() }
        exporter.add(Self.span)
        try await eventually("the first one") { collector.requests.count == 1 }
        for _ in 0..<SpanExporter.batch + 1 { exporter.add(Self.span) }
        run.cancel()
        await run.value
        let requests = collector.requests
        #expect(requests[0].line == "POST /v1/traces HTTP/1.1" && requests[0].headers["x-key"] == "secret")
        #expect(requests[0].headers["content-type"] == "application/json")
        let spans = requests.reduce(0) { $0 + $1.text.matches(of: /"spanId"/).count }
        #expect(spans == SpanExporter.batch + 2)
    }

    @Test func `a collector that is away costs spans, one line of the log and no more memory`() async throws {
        let log = LogLines()
        let exporter = exporter("http://127.0.0.1:1", log.logger)
        for _ in 0..<SpanExporter.capacity + 100 { exporter.add(Self.span) }
        let run = Task { await exporter.run() }
        try await eventually("it says so") { log.all.contains { $0.contains("does not take spans") } }
        run.cancel()
        await run.value
        #expect(log.all.count { $0.contains("does not take spans") } == 1)
    }

    @Test func `a collector may refuse some`() {
        func refused(_ body: String) -> Int { SpanExporter.refused(Array(body.utf8)).count }
        #expect(refused(#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#) == 3)
        #expect(refused(#"{"partialSuccess":{"rejectedSpans":3}}"#) == 3)
        for body in ["", "{}", "[]", #"{"partialSuccess":{}}"#, "\u{0}"] { #expect(refused(body) == 0) }
    }

    @Test func `headers are a list of names and values`() throws {
        let list = try #require(SpanExporter.Options.Header.list("authorization=Bearer a=b, x-key=1"))
        #expect(list == [.init("authorization", "Bearer a=b"), .init("x-key", "1")])
        for text in ["", "a", "a=", "=b", "a=b,", "a b=c", "a=b\u{e9}", "a:=b"] {
            #expect(SpanExporter.Options.Header.list(text) == nil, "\(text)")
        }
    }
}
