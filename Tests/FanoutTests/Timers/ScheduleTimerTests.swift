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
        let fixture = try await WorkerFixture.start()
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

    @Test func `a request for approval that nobody decides lapses, and the log of actions tells whose`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1)
        var waiting = schedule(fixture, due: nowMilliseconds() + 100)
        waiting.publish.publisher = Publisher(credential: "oidc", address: "::1", who: "Ann")
        waiting.state = .awaiting
        waiting.approval = Approval(asker: "a", askedAt: nowMilliseconds())
        let request = waiting
        #expect(try await fixture.store.schedules.create(fixture.app, [request]) != nil)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            try await eventually("the log tells that it lapsed") {
                let told = try await fixture.store.actions.list(fixture.app, after: nil, limit: 10).actions
                guard let action = told.first?.action else { return false }
                #expect(action.kind == "lapse" && action.who == "Ann" && action.credential == "oidc")
                #expect(action.subjects == [.schedule: request.id.description, .name: fixture.name.rawValue])
                return told.count == 1
            }
        }
        #expect(try await fixture.store.schedules.find(fixture.app, request.id)?.reason == Schedule.lapsed)
        #expect(transport.total == 0)
    }
}
