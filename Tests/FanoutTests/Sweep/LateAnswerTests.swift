import APNsWire
import Delivery
import LiveActivity
import Logging
import Spans
import Store
import TestSupport
import Testing
import Threads

@testable import Fanout

/// Tests that answers which come after their page was settled have the same effects as others.
@Suite struct LateAnswerTests {
    private static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func `the span of a page tells of open requests, and a later one of their answers`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let collector = try HTTPSReceiver { _ in .status(200, body: Array("{}".utf8)) }
        let exporter = SpanExporter(
            .init(endpoint: String(collector.url.dropLast("/hook".count)), share: 0, caFile: collector.caFile),
            kind: "worker", instance: "one", version: "1", logger: .quiet)
        let run = Task { await exporter.run() }
        let transport = LateTransport { $0 == 1 }
        try await fixture.withWorker(transport, spans: exporter) {
            let id = try await fixture.publish(traceparent: Self.traceparent)
            try await fixture.swept(id)
            transport.answer(1)
            #expect(try await fixture.finished(id).delivered == 3)
        }
        run.cancel()
        await run.value
        let text = collector.requests.map(\.text).joined()
        func span(_ name: String) -> Substring? {
            text.firstRange(of: #""name":"\#(name)""#).map { text[$0.upperBound...].prefix { $0 != "]" } }
        }
        let page = try #require(span("page"))
        #expect(page.contains(#""lamplighter.delivered","value":{"intValue":"2"}"#))
        #expect(page.contains(#""lamplighter.open","value":{"intValue":"1"}"#))
        let late = try #require(span("late"))
        #expect(late.contains(#""lamplighter.delivered","value":{"intValue":"1"}"#))
        #expect(late.contains(#""lamplighter.tokens","value":{"intValue":"1"}"#))
    }

    /// A late joiner's card, and a shard other than the first, are not the push's first token.
    @Test(arguments: [PushSize?.none, .small])
    func `a late answer is the first token only if its page may be`(_ size: PushSize?) async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<1)
        let id = try await fixture.publish()
        let record = try await fixture.claimed(id).record
        var page = TokenPage()
        page.append(
            channel: channels[0].stored, token: [0, 0, 0, 0], registeredAt: nowMilliseconds(), route: .elsewhere)
        let state = RunState()
        let transport = LateTransport { _ in true }
        let app = WorkerApp(key: fixture.app, bundleID: "b", transport: transport)
        let (sent, _) = await RenderedPush(record, for: app.senders, fixture.name).send(
            page, trace: nil, while: AlwaysPermitted(), Handover())
        let open = OpenPage(
            context: fixture.context(), app: app, name: fixture.name,
            details: PageDetails(
                record: record, firstSize: size, notes: [:], trace: nil, spanStart: nil, isRetry: true),
            requests: [
                0: .init(
                    request: OpenRequest(
                        OpenRequest.ID(worker: 1, number: 1), WaitingChannel(page, 0, of: id), for: .seconds(60)),
                    route: [])
            ],
            answers: sent.outcome.late, until: .max, state: state, log: .quiet)
        transport.answer(0)
        await open.run()
        #expect(state.values.reached == (size == nil ? [] : [id]))
    }
}

extension WorkerFixture {
    /// The context of a worker that does not run.
    func context() -> WorkerContext {
        WorkerContext(
            store: store, apps: [:], live: Replaceable(WorkerOptions(name: "w")), owner: "w",
            circuits: AppCircuits(), metrics: WorkerMetrics([AppPlatform(app, .ios)]), logger: .quiet,
            leases: LeaseKeeper(now: bootClock), spans: nil)
    }
}
