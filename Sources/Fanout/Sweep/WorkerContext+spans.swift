import LiveActivity
import Spans
import Store

/// Tells what a worker does for a push whose trace is sampled. Without an exporter nothing is measured.
extension WorkerContext {
    /// The time of a span's beginning. Nil: the push has no trace.
    func spanStart(_ record: PushRecord) -> Int64? {
        spans == nil || record.traceparent == nil ? nil : wallNanoseconds()
    }

    /// Adds a span that ends now.
    /// - Parameter start: of `spanStart`
    func addSpan(
        _ name: String, _ kind: Span.Kind, _ app: AppKey, _ record: PushRecord, from start: Int64?,
        _ attributes: [Span.Attribute] = [], failure: String? = nil
    ) {
        guard let start else { return }
        addSpan(name, kind, app, record, from: start, to: wallNanoseconds(), attributes, failure: failure)
    }

    private func addSpan(
        _ name: String, _ kind: Span.Kind, _ app: AppKey, _ record: PushRecord, from start: Int64, to end: Int64,
        _ attributes: [Span.Attribute] = [], failure: String? = nil
    ) {
        guard let spans, let parent = record.traceparent.flatMap({ TraceContext($0) }) else { return }
        let about: [Span.Attribute] = [
            .init("lamplighter.app", .text(app.rawValue)), .init("lamplighter.push", .text(record.id.description)),
            .init("lamplighter.worker", .text(owner)),
        ]
        spans.add(
            Span(
                name, kind, parent.child(), parent: parent.span, start: start, end: end,
                about + attributes, failure: failure))
    }

    /// Adds how long the push waited for a worker, and how long it took to begin.
    /// - Parameter asked: when the worker asked Redis to begin it, epoch nanoseconds of this machine
    func addBeginSpans(_ app: AppKey, _ record: PushRecord, asked: Int64?) {
        guard let asked else { return }
        // The acceptance has Redis's time, from which this machine's may differ.
        let waited = max(0, store.time.now() - record.createdAt) * 1_000_000 - max(0, wallNanoseconds() - asked)
        addSpan("wait", .inside, app, record, from: asked - max(0, waited), to: asked)
        addSpan("begin", .inside, app, record, from: asked)
    }

    /// Adds what became of a page's requests: counts, no tokens.
    func addPageSpan(
        _ name: String, _ app: AppKey, _ record: PushRecord, from start: Int64?, tokens: Int, _ report: PageReport
    ) {
        if start == nil { return }
        var about: [Span.Attribute] = [
            .init("lamplighter.tokens", .count(tokens)), .init("lamplighter.delivered", .count(report.delivered)),
            .init("lamplighter.open", .count(report.open.count)),
        ]
        for (reason, count) in report.errors.sorted(by: { $0.key < $1.key }).prefix(16) {
            about.append(.init("lamplighter.answers.\(reason)", .count(count)))
        }
        addSpan(name, .client, app, record, from: start, about, failure: report.halt?.reason)
    }
}
