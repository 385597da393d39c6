internal import Curl
internal import LiveActivity
public import Logging
internal import Metrics
public import ServiceLifecycle
internal import StrictJSON
internal import Synchronization

/// The names of the metrics that this target defines.
public enum SpanMetricName: String, CaseIterable, Sendable {
    case spans = "lamplighter_spans_total"

    /// The meaning of the metric, as in docs/metrics.md.
    public var help: String {
        switch self {
        case .spans: "spans: sent, or dropped because the collector did not take them"
        }
    }
}

/// Sends a process's spans to a collector, as OTLP over HTTP in JSON
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp). Spans are no ledger: spans that the collector does not take
/// are dropped and counted, and work waits for no span.
public final class SpanExporter: Service {
    public struct Options: Sendable, Hashable {
        /// `http://host:4318` or `https://…`, without a slash at its end. `/v1/traces` is added.
        public var endpoint: String
        /// The share of publishes without a trace of their own that begin one: 0 to 1.
        public var share: Double
        /// Headers for the collector. They may hold a secret.
        public var headers: [Header]
        /// PEM file of the root certificates; nil: the system's.
        public var caFile: String?

        public struct Header: Sendable, Hashable {
            public var name: String
            public var value: String
            public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

            /// Reads `name=value,other=value`. Nil if it is anything else.
            public static func list(_ text: String) -> [Header]? {
                var headers: [Header] = []
                for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                    let pair = part.split(separator: "=", maxSplits: 1).map { $0.drop { $0 == " " } }
                    guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty,
                        pair[0].utf8.allSatisfy({
                            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
                        }), pair[1].utf8.allSatisfy({ (0x20...0x7E).contains($0) })
                    else { return nil }
                    headers.append(Header(String(pair[0]), String(pair[1])))
                }
                return headers
            }
        }

        public init(endpoint: String, share: Double, headers: [Header] = [], caFile: String? = nil) {
            (self.endpoint, self.share, self.headers, self.caFile) = (endpoint, share, headers, caFile)
        }
    }

    /// The most spans that wait, and the most of one request.
    static let (capacity, batch) = (4_096, 512)
    /// From one request to the next while spans wait.
    private static let pause: Duration = .seconds(1)
    private static let timeout: Duration = .seconds(5)

    private let options: Options
    private let resource: JSON
    private let waiting = Mutex<[Span]>([])
    private let (sent, dropped): (Counter, Counter)
    private let logger: Logger
    /// One line a minute while the collector is away.
    private let failures = LogThrottle(burst: 1, perSecond: 1.0 / 60)

    /// - Parameters:
    ///   - kind: `gateway` or `worker`
    ///   - instance: names this process in the fleet
    public init(_ options: Options, kind: String, instance: String, version: String, logger: Logger) {
        (self.options, self.logger) = (options, logger)
        resource = .array([
            Span.Attribute("service.name", .text("lamplighter-\(kind)")).json,
            Span.Attribute("service.instance.id", .text(instance)).json,
            Span.Attribute("service.version", .text(version)).json,
        ])
        func counter(_ result: String) -> Counter {
            Counter(label: SpanMetricName.spans.rawValue, dimensions: [("result", result)])
        }
        (sent, dropped) = (counter("sent"), counter("dropped"))
    }

    private static func request(_ options: Options, _ body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            "POST", options.endpoint + "/v1/traces",
            headers: [("Content-Type", "application/json")] + options.headers.map { ($0.name, $0.value) },
            body: .bytes(body), caFile: options.caFile, timeout: timeout)
    }

    /// Sends a request without spans.
    /// - Returns: why the collector does not take it
    public static func problem(_ options: Options) async -> String? {
        do throws(HTTPFailure) {
            let request = Self.request(options, Array(#"{"resourceSpans":[]}"#.utf8))
            let status = try await HTTPClient().send(request, maximumBody: 64 << 10).status
            return (200..<300).contains(status) ? nil : "HTTP \(status)"
        } catch {
            return error.reason
        }
    }

    /// Whether a request's spans are wanted: as its `traceparent` says, or else by chance.
    /// - Returns: the identities of the request's own span and of its parent; nil: it is not sampled
    public func sample(_ header: String?) -> (context: TraceContext, parent: String?)? {
        if let parent = header.flatMap({ TraceContext($0) }) {
            return parent.isSampled ? (parent.child(), parent.span) : nil
        }
        return Double.random(in: 0..<1) < options.share ? (.root(), nil) : nil
    }

    public func add(_ span: Span) {
        let isFull = waiting.withLock { waiting in
            if waiting.count >= Self.capacity { return true }
            waiting.append(span)
            return false
        }
        if isFull { dropped.increment() }
    }

    /// Runs until shutdown begins, and then sends what waits, for as long as one request may take.
    public func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.pause) }
            await sendAll()
        }
        await sendAll()
    }

    /// Sends in a task of its own: the caller's task may be cancelled, which would end a request and lose its spans.
    private func sendAll() async { await Task { while let isMore = await sendBatch(), isMore {} }.value }

    /// Sends the oldest spans once.
    /// - Returns: whether more wait; nil if the collector did not take these
    private func sendBatch() async -> Bool? {
        let (spans, isMore) = waiting.withLock { waiting in
            let spans = Array(waiting.prefix(Self.batch))
            waiting.removeFirst(spans.count)
            return (spans, !waiting.isEmpty)
        }
        if spans.isEmpty { return false }
        let request = Self.request(options, body(spans))
        let refused: (count: Int, reason: String)
        do throws(HTTPFailure) {
            let response = try await HTTPClient().send(request, maximumBody: 64 << 10)
            refused =
                (200..<300).contains(response.status)
                ? Self.refused(response.body) : (spans.count, "HTTP \(response.status)")
        } catch {
            refused = (spans.count, error.reason)
        }
        let lost = min(max(0, refused.count), spans.count)
        sent.increment(by: spans.count - lost)
        if lost == 0 { return isMore }
        dropped.increment(by: lost)
        if failures.take() != nil {
            logger.warning(
                "the collector of traces does not take spans, which are dropped; see lamplighter_spans_total",
                metadata: ["endpoint": "\(options.endpoint)", "spans": "\(lost)", "reason": "\(refused.reason)"])
        }
        return lost < spans.count ? isMore : nil
    }

    /// `ExportTraceServiceRequest`.
    func body(_ spans: [Span]) -> [UInt8] {
        let scope = JSON.fields([
            "scope": .fields(["name": .string("lamplighter")]), "spans": .array(spans.map(\.json)),
        ])
        let process = JSON.fields(["resource": .fields(["attributes": resource]), "scopeSpans": .array([scope])])
        return JSON.fields(["resourceSpans": .array([process])]).bytes
    }

    /// How many spans a 2xx refuses: `ExportTraceServiceResponse`. An answer that is no such object refuses none.
    static func refused(_ body: [UInt8]) -> (count: Int, reason: String) {
        guard let partial = try? JSONDocument(body).root.object()["partialSuccess"]?.object() else { return (0, "") }
        // 64-bit numbers are text in protobuf's JSON, but numbers are to be understood too.
        let text = partial["rejectedSpans"].map { String(decoding: $0.raw, as: UTF8.self).filter { $0 != "\"" } }
        let reason = (try? partial["errorMessage"]?.string()) ?? "no reason"
        return (text.flatMap { Int($0) } ?? 0, String(reason.prefix(200)))
    }
}
