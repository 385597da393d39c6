import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// An operator stops an app or a name. Nothing is sent, and nothing is lost.
@Suite struct PauseTests {
    private let other = try! ActivityName("match-2")

    @Test func `a paused app sends nothing, and all of it when it is resumed`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let (store, app) = (fixture.store, fixture.app)
        #expect(try await store.pauses.pause(app, nil))
        let id = try await fixture.publish()
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) {
            try await isPutOff(fixture.name, fixture)
            #expect(transport.total == 0)
            #expect(try await store.pauses.resume(app, nil))
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 10 && transport.total == 10)
        #expect(try await !store.pauses.resume(app, nil), "it is not paused any more")
    }

    @Test func `a paused name waits, and others go on`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let (store, app, name) = (fixture.store, fixture.app, fixture.name)
        #expect(try await store.pauses.pause(app, name))
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let held = try await fixture.publish()
            try await isPutOff(name, fixture)
            let free = try await fixture.finished(try await fixture.publish(to: other))
            #expect(free.state == .done)
            #expect(try await store.pushes.ledger(app, held)?.state == .queued && transport.total == 0)
            #expect(try await store.pauses.resume(app, name))
            #expect(try await fixture.finished(held).delivered == 10)
        }
    }

    @Test func `a pause stops a push half way, and each token gets it once`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3_000)
        let (store, app) = (fixture.store, fixture.app)
        let transport = ScriptedTransport()
        transport.hold()
        let ledger = try await fixture.withWorker(transport, pageSize: 100) {
            let id = try await fixture.publish()
            await transport.holding(pages: 1)
            #expect(try await store.pauses.pause(app, nil))
            // The worker has read the pauses once it puts off the work of another name.
            try await eventually("the worker knows of the pause") {
                _ = try await fixture.publish(to: other)
                return try await isInTimer(other, fixture)
            }
            transport.letGo()
            // The pages that were on their way are settled, and the rest is put off: one of two shards, then the other.
            try await isPutOff(fixture.name, fixture)
            try await eventually("what was sent is settled") {
                try await store.pushes.ledger(app, id)?.delivered == transport.total
            }
            let half = try #require(try await store.pushes.ledger(app, id))
            #expect(half.state == .sending && half.delivered < 3_000 && half.delivered == transport.total)
            #expect(try await store.pauses.resume(app, nil))
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 3_000 && ledger.duplicatesPossible == 0)
        #expect(transport.counts.count == 3_000 && transport.counts.values.allSatisfy { $0 == 1 })
    }

    @Test func `what expires while its name is paused is a dead letter, and nothing is sent`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<300)
        let (store, app) = (fixture.store, fixture.app)
        #expect(try await store.pauses.pause(app, fixture.name))
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport, pageSize: 100) {
            let soon = try await fixture.publish(expiry: Int(nowMilliseconds() / 1_000) + 2)
            let later = try await fixture.publish()
            let ledger = try await fixture.finished(soon)
            #expect(ledger.state == .expired && ledger.expired == 300)
            let letter = try #require(try await store.deadLetters.list(app, after: nil, limit: 10).first)
            #expect(letter.push == soon && letter.reasons == ["Expired": 300])
            try await eventually("the alarm") { try await store.alarms.list([app]).map(\.kind) == [.expired] }
            #expect(try await store.pushes.ledger(app, later)?.state == .queued && transport.total == 0)
            #expect(try await store.pauses.resume(app, fixture.name))
            #expect(try await fixture.finished(later).delivered == 300)
        }
        #expect(transport.total == 300)
    }

    @Test func `an end that expires while its name is paused does not keep it closed`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let (store, app) = (fixture.store, fixture.app)
        #expect(try await store.pauses.pause(app, fixture.name))
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let end = try await fixture.publish(event: .end, expiry: Int(nowMilliseconds() / 1_000) + 1)
            #expect(try await fixture.finished(end).state == .expired)
            let update = try await fixture.publish()
            #expect(try await store.pauses.resume(app, fixture.name))
            #expect(try await fixture.finished(update).delivered == 3)
        }
    }

    @Test func `a retry that expires while its name is paused is a dead letter, and others wait on`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<3)
        let (store, app) = (fixture.store, fixture.app)
        let transport = ScriptedTransport { token, attempt in
            WorkerFixture.number(token) < 2 && attempt == 1 ? WaitingTests.busy(retryAfter: 3) : .accepted
        }
        try await fixture.withWorker(transport) {
            let expiry = Int(nowMilliseconds() / 1_000) + 5
            let soon = try await fixture.publish(.not(.channel(channels[1])), expiry: expiry)
            let later = try await fixture.publish(.channel(channels[1]))
            for push in [soon, later] { try await fixture.swept(push) }
            #expect(try await store.pauses.pause(app, fixture.name))
            let ledger = try await fixture.finished(soon)
            #expect(ledger.state == .done && ledger.delivered == 1 && ledger.expired == 1)
            #expect(try await store.pauses.resume(app, fixture.name))
            #expect(try await fixture.finished(later).delivered == 1)
        }
        #expect(transport.total == 4)
    }

    @Test func `the reconciler finds what expires while its app is paused`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<3)
        let (store, app) = (fixture.store, fixture.app)
        #expect(try await store.pauses.pause(app, nil))
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            _ = try await fixture.publish(to: other)
            let soon = try await fixture.publish()
            try await isPutOff(fixture.name, fixture)
            try await isPutOff(other, fixture)
            try await fixture.passDeadline(soon)
            let now = nowMilliseconds()
            let found = try await store.queue.reconcile([app], paused: [app], before: now, now: now, limit: 10)
            #expect(found.woken == 1, "only the name whose push has expired")
            #expect(try await fixture.finished(soon).state == .expired)
        }
        #expect(transport.total == 0)
    }

    @Test func `pauses are listed, and a name too many is refused`() async throws {
        let fixture = try await WorkerFixture.start()
        let (pauses, app) = (fixture.store.pauses, fixture.app)
        #expect(try await pauses.list([app]).isEmpty)
        for number in 0..<Pauses.mostNames { #expect(try await pauses.pause(app, ActivityName("n-\(number)"))) }
        #expect(try await !pauses.pause(app, ActivityName("one-more")))
        #expect(try await pauses.pause(app, nil), "the app can still be paused")
        let listed = try await pauses.list([app, try AppKey("other")])
        #expect(listed.count == Pauses.mostNames + 1 && listed[0].name == nil)
        #expect(try await pauses.since(app, other) != nil)
        #expect(try await pauses.since(try AppKey("other"), other) == nil)
    }

    /// Waits until the timer holds work of this name.
    private func isPutOff(_ name: ActivityName, _ fixture: WorkerFixture) async throws {
        try await eventually("the work of \(name) is put off") { try await isInTimer(name, fixture) }
    }

    private func isInTimer(_ name: ActivityName, _ fixture: WorkerFixture) async throws -> Bool {
        let store = fixture.store
        for partition in store.keys.allPartitions {
            let timer = RedisCommand("ZRANGE", store.keys.due(fixture.app, partition), "0", "-1")
            let tasks = try await store.redis.send(timer).array()
            for task in tasks where WorkItem(member: try task.string())?.name == name { return true }
        }
        return false
    }
}
