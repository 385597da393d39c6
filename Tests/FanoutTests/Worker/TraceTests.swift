import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// A push that traces a channel: the worker keeps what it exchanges with APNs for that channel's token, and no other.
@Suite struct TraceTests {
    private func publish(
        _ fixture: WorkerFixture, trace: ChannelID, audience: Audience = .all
    ) async throws -> PushID {
        let publish = Publish(
            name: fixture.name, event: .update, audience: audience, contentState: RawJSON(checked: "{}"),
            options: PublishOptions(trace: trace))
        let id = PushID.random()
        let acceptance = try await fixture.store.pushes.accept(
            fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20, now: nowMilliseconds())
        guard case .accepted = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }

    private func found(_ fixture: WorkerFixture, _ id: PushID) async throws -> (total: Int, texts: [String]) {
        let trace = try #require(try await fixture.store.traces.find(fixture.app, fixture.name, id))
        return (trace.total, trace.exchanges.map { String(decoding: $0, as: UTF8.self) })
    }

    @Test func `the exchange of one of many tokens is there when the push is final`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(1..<401)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let id = try await publish(fixture, trace: channels[250])
            let ledger = try await fixture.finished(id)
            #expect(ledger.targets == 400 && ledger.delivered == 400)
            let (total, texts) = try await found(fixture, id)
            #expect(total == 1 && texts.count == 1)
            let number = WorkerFixture.number(try #require(WorkerFixture.token(251)).bytes)
            #expect(texts[0].contains(#""attempt":1"#) && texts[0].contains(#""path":"/3/device/\#(number)""#))
            #expect(texts[0].contains(#""status":200"#))
            let pushes = (1..<401).compactMap { WorkerFixture.token($0) }.flatMap { transport.pushes(to: $0.bytes) }
            #expect(pushes.count == 400 && pushes.count { $0.trace != nil } == 1, "it is sent in a page of its own")
        }
    }

    @Test func `each attempt is kept`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(1..<4)
        let transport = ScriptedTransport { token, attempt in
            WorkerFixture.number(token) == 2 && attempt < 3
                ? .rejected(Rejection(status: 503, reason: .known(.serviceUnavailable))) : .accepted
        }
        try await fixture.withWorker(transport) {
            let id = try await publish(fixture, trace: channels[1])
            #expect(try await fixture.finished(id).delivered == 3)
            let (total, texts) = try await found(fixture, id)
            #expect(total == 3, "\(texts)")
            for (position, words) in [#""status":503"#, #""status":503"#, #""status":200"#].enumerated() {
                #expect(texts[position].contains(words))
                #expect(texts[position].contains(#""attempt":\#(position + 1),"#))
            }
        }
    }

    @Test func `a token of the other environment shows both servers`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(1..<3)
        let bad = PushOutcome.rejected(Rejection(status: 400, reason: .known(.badDeviceToken)))
        let production = ScriptedTransport { token, _ in WorkerFixture.number(token) == 1 ? .accepted : bad }
        try await fixture.withWorker(production, other: ScriptedTransport()) {
            let id = try await publish(fixture, trace: channels[1])
            #expect(try await fixture.finished(id).delivered == 2)
            let (total, texts) = try await found(fixture, id)
            #expect(total == 2 && texts[0].contains("BadDeviceToken") && texts[1].contains(#""status":200"#))
        }
    }

    @Test func `a channel that gets nothing has an empty trace`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(1..<4)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let id = try await publish(fixture, trace: .random())
            #expect(try await fixture.finished(id).delivered == 3)
            #expect(try await found(fixture, id).total == 0)
            #expect(transport.pages == 1)
        }
    }
}
