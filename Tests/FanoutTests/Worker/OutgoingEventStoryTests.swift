import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Outgoing events of real pushes, in the stream of the app.
@Suite struct OutgoingEventStoryTests {
    private static let policy = EventPolicy(keep: 1_000)

    private func stream(_ fixture: WorkerFixture) async throws -> [String] {
        let reader = fixture.store.eventReader()
        defer { reader.close() }
        return try await reader.events(fixture.app, after: "0-0", limit: 1_000, waits: false).map(\.id)
    }

    /// The worker that made the push final died before it moved the event.
    @Test func `a push that a dead worker finished is told by the next one`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        try await fixture.store.queue.prepare([fixture.app])
        let id = try await fixture.publish()
        let reader = fixture.reader()
        let found = try await reader.read(
            .namesHigh, [fixture.app], consumer: "dead", count: 10, block: .milliseconds(100))
        reader.close()
        #expect(found.entries.count == 1)
        let claim = try await fixture.claimed(id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.count(.delivered)
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), page)
        #expect(try await stream(fixture).isEmpty)
        try await fixture.ageEntries(.namesHigh)
        try await fixture.withWorker(ScriptedTransport()) {
            try await eventually("it is told") { try await stream(fixture) == ["\(id).1"] }
        }
    }

    @Test func `a push that a gateway cancels is told at once`() async throws {
        let fixture = try await WorkerFixture.start(events: Self.policy)
        try await fixture.track(0..<1)
        let transport = ScriptedTransport { _, _ in WaitingTests.busy(retryAfter: 600) }
        try await fixture.withWorker(transport) {
            let id = try await fixture.publish()
            try await fixture.swept(id)
            _ = try await fixture.store.pushes.cancel(fixture.app, id)
            try await eventually("it is told", within: .seconds(20)) {
                try await stream(fixture) == ["\(id).1"]
            }
        }
    }
}
