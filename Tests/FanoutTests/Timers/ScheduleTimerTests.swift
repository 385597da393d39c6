import APNsClient
import LiveActivity
import ServiceLifecycle
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests schedules and the workers that run them.
@Suite struct ScheduleTimerTests {
    private func schedule(_ fixture: WorkerFixture, due: Int64) -> Schedule {
        Schedule(
            id: .random(),
            publish: Publish(
                name: fixture.name, event: .update, audience: .all, alert: RawJSON(checked: #"{"title":"t"}"#)),
            payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20, due: due,
            createdAt: nowMilliseconds())
    }

    @Test func `one of the workers sends each schedule once, also after a restart of Redis`() async throws {
        let fixture = try await WorkerFixture.start(keeps: true)
        try await fixture.track(0..<3)
        let schedules = (0..<10).map { schedule(fixture, due: nowMilliseconds() + 100 + Int64($0) * 20) }
        #expect(try await fixture.store.schedules.create(fixture.app, schedules) != nil)
        try await fixture.server.restart()
        let transport = ScriptedTransport()
        let other = fixture.group(transport, "other")
        async let running: Void = other.run()
        try await fixture.withWorker(transport) {
            for schedule in schedules {
                let ledger = try await fixture.finished(schedule.id)
                #expect(ledger.state == .done && ledger.delivered == 3)
                #expect(ledger.createdAt >= schedule.due, "never before its time")
            }
        }
        await other.triggerGracefulShutdown()
        try await running
        #expect(transport.total == 30)
        #expect(transport.counts.values.allSatisfy { $0 == 10 })
    }
}
