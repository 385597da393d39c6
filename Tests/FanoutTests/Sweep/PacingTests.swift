import LiveActivity
import Redis
import Testing

@testable import Fanout
@testable import Store
@testable import StoreGround

/// Tests pacing as followers see it.
@Suite struct PacingTests {
    @Test func `what follows within the interval is one update`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, minInterval: .seconds(600)) {
            _ = try await fixture.finished(try await fixture.publish(alert: false))
            var last = try await fixture.publish(alert: false)
            for _ in 0..<20 { last = try await fixture.publish(alert: false) }
            // An alert does not wait. It supersedes the update before it.
            let alert = try await fixture.finished(try await fixture.publish())
            let update = try await fixture.finished(last)
            #expect(update.state == .superseded && update.supersededBy == alert.id)
            #expect(alert.state == .done && alert.delivered == 3)
        }
        #expect(transport.total == 6, "the first update and the alert")
    }

    @Test func `the timer sends what the interval held back`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, minInterval: .seconds(600)) {
            for round in 0..<3 {
                let id = try await fixture.publish(alert: false)
                if round > 0 { try await fixture.letIntervalPass(for: id) }
                let ledger = try await fixture.finished(id)
                #expect(ledger.state == .done && ledger.delivered == 3)
            }
        }
    }

    @Test func `a paced name whose entry is lost is found by the reconciler`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        try await fixture.withWorker(ScriptedTransport(), minInterval: .milliseconds(100)) {
            _ = try await fixture.finished(try await fixture.publish(alert: false))
        }
        // A worker read the entry, found that the push is paced, and died before it put the push into the timer.
        let id = try await fixture.publish(alert: false)
        let keys = fixture.store.keys
        try await fixture.store.redis.send(
            RedisCommand(
                "DEL",
                [
                    .key(keys.stream(fixture.app, .namesHigh, fixture.partition)),
                    .key(keys.due(fixture.app, fixture.partition)),
                ]))
        let later = nowMilliseconds() + 60_000
        let woken = try await fixture.store.queue.reconcile([fixture.app], before: later, now: later, limit: 10)
        #expect(woken == Reconciliation(woken: 1))
        let ledger = try await fixture.withWorker(ScriptedTransport()) { try await fixture.finished(id) }
        #expect(ledger.delivered == 3)
    }
}
