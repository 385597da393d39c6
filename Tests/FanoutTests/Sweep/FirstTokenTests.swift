import APNsWire
import Delivery
import LiveActivity
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// The first tokens that a push reaches, whatever becomes of its first page.
@Suite struct FirstTokenTests {
    private func record(delivered: Int) -> PushRecord {
        var record = PushRecord(
            id: .random(), event: .update, priority: .high, audience: .all, sequence: 1, isSupersedable: true,
            deadline: 0, createdAt: 0, state: .sending, payload: [])
        record.deliveredSoFar = delivered
        return record
    }

    @Test func `only the first delivered page of a push is its first`() {
        var run = RunState.Values()
        let (first, other) = (record(delivered: 0), record(delivered: 0))
        // A run of retries sends several pushes.
        let isFirst = [run.reach(first), run.reach(first), run.reach(other)]
        #expect(isFirst == [true, false, true])
    }

    @Test func `a push that reached tokens before this run is not counted again`() {
        var run = RunState.Values()
        let reached = record(delivered: 7)
        let isFirst = [run.reach(reached), run.reach(reached)]
        #expect(isFirst == [false, false])
    }

    /// APNs is busy at first, so a retry brings the push to its first device.
    @Test func `a retry knows whether the push has reached a token`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let transport = ScriptedTransport { _, attempt in
            attempt == 1 ? WaitingTests.busy(retryAfter: 600) : .accepted
        }
        let id = try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            try await fixture.swept(id)
            let waiting = try #require(try await records(fixture, id))
            #expect(waiting.deliveredSoFar == 0 && waiting.targetsSoFar == 2)
            try await fixture.retryNow()
            _ = try await fixture.finished(id)
            return id
        }
        let ended = try #require(try await records(fixture, id))
        #expect(ended.deliveredSoFar == 2 && ended.targetsSoFar == 2)
    }

    private func records(_ fixture: WorkerFixture, _ id: PushID) async throws -> PushRecord? {
        try await fixture.store.sweeps.records(fixture.app, fixture.name, [id])[id]
    }
}
