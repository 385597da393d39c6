import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Events that wait for a webhook, the worker that sends them, and those that were not taken.
@Suite struct WebhookQueueTests {
    private func start() async throws -> (PushFixture, WebhookQueue) {
        let fixture = try await PushFixture.start(events: EventPolicy(queued: Set(OutgoingEvent.Kind.allCases)))
        return (fixture, fixture.store.webhookQueue())
    }

    private func add(_ count: Int, _ fixture: PushFixture) async throws -> [String] {
        let events = (0..<count).map { _ in OutgoingEvent.test(fixture.app, at: 0) }
        try await fixture.store.events.add(fixture.app, events)
        return events.map(\.id)
    }

    @Test func `one worker at a time has the lease, and gives it back`() async throws {
        let (fixture, queue) = try await start()
        let (app, other) = (fixture.app, try AppKey("other"))
        #expect(try await queue.hold(app, owner: "a", for: .seconds(60)))
        #expect(try await queue.hold(app, owner: "a", for: .seconds(60)))
        #expect(try await !queue.hold(app, owner: "b", for: .seconds(60)))
        #expect(try await queue.hold(other, owner: "b", for: .seconds(60)))
        try await queue.giveBack(app, owner: "b")
        #expect(try await !queue.hold(app, owner: "b", for: .seconds(60)), "it was not b's")
        try await queue.giveBack(app, owner: "a")
        #expect(try await queue.hold(app, owner: "b", for: .seconds(60)))
        queue.close()
    }

    @Test func `events stay in their order until they are delivered`() async throws {
        let (fixture, queue) = try await start()
        let ids = try await add(5, fixture)
        let read = try await queue.read(fixture.app, limit: 3)
        #expect(read.map(\.id) == Array(ids[..<3]))
        #expect(try await queue.read(fixture.app, limit: 3) == read)
        try await queue.delivered(fixture.app, read[1...1], endsFailure: false)
        #expect(try await queue.read(fixture.app, limit: 9).map(\.id) == [0, 2, 3, 4].map { ids[$0] })
        #expect(try await fixture.store.webhooks.status(fixture.app) == WebhookStatus(waiting: 4))
        queue.close()
    }

    @Test func `a failure is remembered for the next worker, until a delivery`() async throws {
        let (fixture, queue) = try await start()
        _ = try await add(1, fixture)
        let failure = WebhookFailure(since: 1_000, attempts: 3, reason: "HTTP 503", next: 2_000)
        try await queue.failed(fixture.app, failure)
        #expect(try await queue.failure(fixture.app) == failure)
        #expect(try await fixture.store.webhooks.status(fixture.app).failure == failure)
        let read = try await queue.read(fixture.app, limit: 1)
        try await queue.delivered(fixture.app, read[...], endsFailure: true)
        #expect(try await fixture.store.webhooks.status(fixture.app) == WebhookStatus())
        queue.close()
    }

    @Test func `events that are given up are kept, retried and discarded`() async throws {
        let (fixture, queue) = try await start()
        let (app, webhooks) = (fixture.app, fixture.store.webhooks)
        let ids = try await add(4, fixture)
        let read = try await queue.read(app, limit: 4)
        try await queue.giveUp(app, read[..<3], reason: "HTTP 422")
        #expect(try await webhooks.status(app) == WebhookStatus(waiting: 1, dead: 3))
        let dead = try await webhooks.dead(app, after: nil, limit: 2)
        #expect(dead.map(\.event.id) == [ids[2], ids[1]] && dead.allSatisfy { $0.reason == "HTTP 422" })
        #expect(dead[0].addedAt == read[2].addedAt)
        let rest = try await webhooks.dead(app, after: dead[1].event.entry, limit: 2)
        #expect(rest.map(\.event.id) == [ids[0]])
        #expect(try await webhooks.retry(app, rest[0].event.entry) == 1)
        #expect(try await webhooks.retry(app, rest[0].event.entry) == 0)
        #expect(try await queue.read(app, limit: 9).map(\.id) == [ids[3], ids[0]])
        #expect(try await webhooks.discard(app, dead[0].event.entry) == 1)
        #expect(try await webhooks.retry(app) == 1)
        #expect(try await webhooks.status(app) == WebhookStatus(waiting: 3))
        #expect(try await webhooks.discard(app) == 0)
        let key = fixture.store.keys.deadEvents(app)
        try await queue.giveUp(app, read[3...], reason: "x")
        #expect(try await fixture.store.redis.send(RedisCommand("PTTL", key)).integer() > 6 * 86_400_000)
        queue.close()
    }

    @Test func `only events that waited too long are given up, all of them`() async throws {
        let (fixture, queue) = try await start()
        let (app, redis) = (fixture.app, fixture.store.redis)
        for number in 0..<1_200 {
            try await redis.send(
                RedisCommand(
                    "XADD", fixture.store.keys.eventQueue(app), .string("1000-\(number)"), "id", "\(number)", "type",
                    "test", "event", "{}"))
        }
        let ids = try await add(2, fixture)
        let now = try await queue.read(app, limit: 2_000).last?.addedAt ?? 0
        #expect(try await queue.giveUp(app, addedBefore: 1_000, reason: "HTTP 500") == 0)
        #expect(try await queue.giveUp(app, addedBefore: now - 60_000, reason: "HTTP 500") == 1_200)
        #expect(try await queue.read(app, limit: 10).map(\.id) == ids)
        queue.close()
    }

    @Test func `a full queue drops its oldest events and counts them`() async throws {
        let (fixture, queue) = try await start()
        let app = fixture.app
        func add(most: Int) async throws {
            try await fixture.store.redis.send(
                RedisCommand(
                    Lua.eventAdd,
                    keys: [
                        "out": fixture.store.keys.events(app), "queue": fixture.store.keys.eventQueue(app),
                        "state": fixture.store.keys.eventQueueState(app),
                    ],
                    ["keep": "0", "most": .int(most)],
                    rest: (0..<500).flatMap { [.string("\($0)"), "test", "{}", "1"] as [RedisArgument] }))
        }
        try await add(most: 100_000)
        #expect(try await fixture.store.webhooks.status(app) == WebhookStatus(waiting: 500))
        try await add(most: 200)
        let status = try await fixture.store.webhooks.status(app)
        #expect(status.waiting < 500 && status.waiting + status.dropped == 1_000)
        queue.close()
    }

    @Test func `what no version wrote is removed from the queue`() async throws {
        let (fixture, queue) = try await start()
        let key = fixture.store.keys.eventQueue(fixture.app)
        try await fixture.store.redis.send(RedisCommand("XADD", key, "*", "id", "x"))
        let ids = try await add(1, fixture)
        #expect(try await queue.read(fixture.app, limit: 10).map(\.id) == ids)
        #expect(try await fixture.store.redis.send(RedisCommand("XLEN", key)).integer() == 1)
        queue.close()
    }

    @Test(arguments: [
        ("1795284000184-0", true), ("0-0", true), ("1", false), ("1-", false), ("1-2-3", false), ("a-1", false),
    ])
    func `an entry's id is told from other text`(text: String, isEntry: Bool) {
        #expect(StoredEvent.isEntry(text) == isEntry)
        #expect(!StoredEvent.isEntry("99999999999999999999-0") && !StoredEvent.isEntry(""))
    }
}
