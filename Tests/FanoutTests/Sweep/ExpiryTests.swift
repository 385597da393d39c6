import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests that an accepted push is sent until its deadline, and that an alarm reports the tokens that did not get it.
@Suite struct ExpiryTests {
    private static let hour: Int64 = 3_600_000

    @Test(arguments: [ActivityEvent.update, .end])
    func `a push that waited for hours for a worker is sent`(event: ActivityEvent) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        let id = try await fixture.accepted(event, hoursAgo: 7)
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.state == .done && ledger.delivered == 3)
    }

    @Test(arguments: [ActivityEvent.update, .end])
    func `what no card can take any more expires, is a dead letter and raises an alarm`(
        event: ActivityEvent
    ) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        let id = try await fixture.accepted(event, hoursAgo: 9)
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.state == .expired && ledger.expired == 3 && transport.total == 0)
        let letter = try #require(try await fixture.store.deadLetters.list(fixture.app, after: nil, limit: 10).first)
        #expect(letter.push == id && letter.reasons == ["Expired": 3] && letter.kept == 0)
        #expect(try await fixture.store.deadLetters.retry(fixture.app, id) == .expired)
        #expect(try await fixture.store.alarms.list([fixture.app]).map(\.kind) == [.expired])
    }

    @Test func `the newest state is what a card shows after an outage`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport()
        // No worker runs. The last update's stale date has long passed when a worker starts.
        for hours in [7, 6, 5] as [Double] {
            _ = try await fixture.accepted(.update, hoursAgo: hours, staleDate: Int(nowMilliseconds() / 1_000) - 60)
        }
        let newest = try await fixture.accepted(
            .update, hoursAgo: 4, staleDate: Int(nowMilliseconds() / 1_000) - 60, label: "newest")
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(newest) }
        #expect(ledger.delivered == 2)
        #expect(transport.taken == [0: ["newest"], 1: ["newest"]])
    }

    /// Accepted in time, but sent too late: a device would make no card of it.
    @Test(arguments: [false, true])
    func `a start that is stale when it could be sent expires, also during a pause`(isPaused: Bool) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(0..<3)
        let transport = ScriptedTransport()
        if isPaused { #expect(try await fixture.store.pauses.pause(fixture.app, fixture.name)) }
        let stale = Int(nowMilliseconds() / 1_000) - 60
        let id = try await fixture.accepted(.start, hoursAgo: 0.5, staleDate: stale)
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.state == .expired && ledger.expired == 3 && transport.total == 0)
        let letter = try #require(try await fixture.store.deadLetters.letter(fixture.app, id))
        #expect(letter.reasons == ["Expired": 3])
        #expect(try await fixture.store.deadLetters.retry(fixture.app, id) == .expired)
    }

    @Test func `a token that APNs lets wait past the expiry is told as expired`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport { token, _ in
            WorkerFixture.number(token) == 0 ? WaitingTests.busy(retryAfter: 3_600) : .accepted
        }
        let expiry = Int(nowMilliseconds() / 1_000) + 600
        let id = try await fixture.publish(alert: false, expiry: expiry)
        let ledger = try await fixture.withWorker(transport) {
            try await fixture.swept(id)
            try await fixture.passDeadline(id)
            try await fixture.retryNow()
            let ledger = try await fixture.finished(id)
            // The alarm is raised after the settlement.
            try await eventually("the alarm is raised") {
                try await fixture.store.alarms.list([fixture.app]).map(\.kind) == [.expired]
            }
            return ledger
        }
        #expect(ledger.expired == 1 && ledger.delivered == 1, "\(ledger)")
        let letter = try #require(try await fixture.store.deadLetters.letter(fixture.app, id))
        #expect(letter.reasons == ["Expired": 1])
    }
}

extension WorkerFixture {
    fileprivate func accepted(
        _ event: ActivityEvent, hoursAgo: Double, staleDate: Int? = nil, label: String = ""
    ) async throws -> PushID {
        let publish = Publish(
            name: name, event: event, audience: .all, contentState: RawJSON(checked: "{}"), staleDate: staleDate,
            attributesType: event == .start ? "MatchAttributes" : nil)
        let id = PushID.random()
        _ = try await store.pushes.accept(
            app, publish, id: id,
            payload: Array(#"{"aps":{"timestamp":0000000000},"label":"\#(label)"}"#.utf8), timestampOffset: 20,
            now: nowMilliseconds() - Int64(hoursAgo * 3_600_000))
        return id
    }
}
