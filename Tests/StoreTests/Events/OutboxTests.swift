import Answers
import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import Store

/// Outgoing events tell once that a push is final, whatever made it so and whoever dies.
@Suite struct OutboxTests {
    private static let name = "match-1"
    private let name = try! ActivityName(OutboxTests.name)

    private func start() async throws -> PushFixture { try await PushFixture.start(events: EventPolicy(keep: 1_000)) }

    /// Empties the outbox, and returns the stream's events.
    private func told(_ fixture: PushFixture) async throws -> [StoredEvent] {
        try await fixture.store.events.empty(fixture.app, name)
        return try await fixture.events()
    }

    private func kinds(_ fixture: PushFixture) async throws -> [String] { try await told(fixture).map(\.kind) }

    private func waiting(_ fixture: PushFixture) async throws -> Int {
        try await fixture.store.redis.send(RedisCommand("LLEN", fixture.key(Keyspace.outbox, Self.name))).integer()
    }

    @Test func `a push that is done is told with its ledger`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        #expect(try await kinds(fixture).isEmpty, "it is not final yet")
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 3)
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["done"] && events.map(\.id) == ["\(id).1"])
        let ledger = try await fixture.ledger(id)
        let at = TimeText.text(try #require(ledger.finishedAt))
        let push = ledger.answer.answerJSON.text
        let text = #"{"id":"\#(id).1","type":"done","app":"shop","at":"\#(at)","push":\#(push)}"#
        #expect(events[0].text == text)
        #expect(try await waiting(fixture) == 0)
        #expect(try await kinds(fixture) == ["done"], "it is told once")
    }

    @Test func `without outgoing events nothing is written for them`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 3)
        let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, name), id)
        #expect(try await fixture.store.redis.send(RedisCommand("HGET", record, "tell")).isNil)
        #expect(try await waiting(fixture) == 0)
        #expect(try await kinds(fixture).isEmpty)
    }

    /// The usual push of an app that tells it: what docs/reference.md says of its commands.
    @Test func `a push to one token that is told takes some commands more`() async throws {
        let fixture = try await start()
        try await fixture.track(Self.name, count: 1)
        func push() async throws {
            let id = try await fixture.accepted(Self.name)
            _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
            try await fixture.store.events.empty(fixture.app, name)
        }
        for _ in 0..<2 { try await push() }
        let redis = fixture.store.redis
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        try await push()
        let calls = try await redis.callsOfTheStore()
        #expect(calls.values.reduce(4, +) <= 50, "\(calls)")
    }

    @Test func `every way to be final is told`() async throws {
        let fixture = try await start()
        let cancelled = try await fixture.accepted(Self.name, alert: true)
        _ = try await fixture.store.pushes.cancel(fixture.app, cancelled)
        let superseded = try await fixture.accepted(Self.name)
        let expired = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, expired)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        page.count(.expired, 2)
        _ = try await fixture.settle(claim, page)
        let failed = try await fixture.accepted(Self.name)
        try await stop(fixture, failed)
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["cancelled", "superseded", "expired", "failed"])
        #expect(events.map(\.id) == [cancelled, superseded, expired, failed].map { "\($0).1" })
    }

    /// Stops a push early with one channel given up.
    private func stop(_ fixture: PushFixture, _ id: PushID) async throws {
        let claim = try await fixture.claimed(Self.name, id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.count(.failed)
        page.giveUp([1, 2, 3], reason: "TopicDisallowed")
        (page.stop, page.abandonsRest) = ("TopicDisallowed", true)
        _ = try await fixture.settle(claim, page)
    }

    @Test func `a push is told when its last retry is settled, not before`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        try await fixture.retry(try await fixture.claimed(Self.name, id), [[1, 1]], due: 5_000)
        #expect(try await kinds(fixture).isEmpty)
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        #expect(try await kinds(fixture) == ["done"])
    }

    @Test func `a push that its last retry stops is told as failed`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        try await fixture.retry(try await fixture.claimed(Self.name, id), [[1, 1]], due: 5_000)
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) {
            $0.finish(waiting, as: .failed, reason: "TopicDisallowed", isGivenUp: true)
            $0.stop(id, reason: "TopicDisallowed")
        }
        #expect(try await kinds(fixture) == ["failed"])
    }

    @Test func `pruned tokens are one event a push, when they are confirmed`() async throws {
        let fixture = try await start()
        try await fixture.track(Self.name, count: 2)
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        var page = Settlement(range: claim.lease.bounds)
        for number in 0..<2 {
            page.remove(TokenRemoval(channel: [1, UInt8(number)], token: [9], deadSince: nil, reason: "Unregistered"))
        }
        _ = try await fixture.settle(claim, page)
        #expect(try await kinds(fixture).isEmpty)
        let pending = try await fixture.pendingRemovals(Self.name)
        _ = try await fixture.store.sweeps.confirm(fixture.app, name, pending.map { (pending: $0, as: .pruned) })
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["done", "pruned"] && events.map(\.id) == ["\(id).1", "\(id).1.pruned"])
        #expect(events[1].text.contains(#""pruned":2"#))
    }

    @Test func `a retried dead letter is told again, under another id`() async throws {
        let fixture = try await start()
        let now = try await fixture.redisTime()
        let acceptance = try await fixture.publish(Self.name, now: now)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        try await stop(fixture, id)
        #expect(try await kinds(fixture) == ["failed"])
        #expect(try await fixture.store.deadLetters.retry(fixture.app, id) == .taken(tokens: 1, isResumed: true))
        #expect(try await kinds(fixture) == ["failed"], "it is being sent")
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        let again = try await fixture.claimed(Self.name, id)
        _ = try await fixture.settle(again, Settlement(range: again.position..<again.lease.bounds.upperBound))
        #expect(try await fixture.ledger(id).state == .done)
        let events = try await told(fixture)
        #expect(events.map(\.id) == ["\(id).1", "\(id).2"] && events.map(\.kind) == ["failed", "done"])
    }

    @Test func `a superseded push that a cancel brings back is told again, under another id`() async throws {
        let fixture = try await start()
        let (first, second) = (try await fixture.accepted(Self.name), try await fixture.accepted(Self.name))
        #expect(try await kinds(fixture) == ["superseded"])
        _ = try await fixture.store.pushes.cancel(fixture.app, second)
        #expect(try await fixture.ledger(first).state == .queued)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, first), targets: 1)
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["superseded", "cancelled", "done"])
        #expect(events.map(\.id) == ["\(first).1", "\(second).1", "\(first).2"])
    }

    @Test func `late joiners are not told`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        let asks = Registration(
            channel: .random(), token: try #require(PushToken(bytes: [7])), registeredAt: 1_795_000_000_000,
            wantsState: true)
        #expect(try await fixture.store.registry.track(fixture.app, .activity(name), [asks]) == [.stored])
        let late = fixture.store.lateJoiners
        let states = try await late.states(fixture.app, name)
        try await late.each(fixture.app, name) { part throws(StoreError) in
            let decisions = part.map { ($0, LateDecision.put(id)) }
            _ = try await late.settle(fixture.app, name, states, decisions)
        }
        #expect(try await fixture.ledger(id).state == .sending)
        // The end is told, although the push went on before a worker told it.
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["done"] && events[0].text.contains(#""state":"done""#))
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        #expect(try await fixture.ledger(id).late == 1)
        #expect(try await kinds(fixture) == ["done"])
    }

    /// The worker died after the events were added, so the next one adds them again.
    @Test func `what was told and not removed is told again with the same id`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        let outbox = try fixture.key(Keyspace.outbox, Self.name)
        let entries = try await fixture.store.redis.send(RedisCommand("LRANGE", outbox, "0", "-1")).array()
        #expect(try await kinds(fixture) == ["done"])
        try await fixture.store.redis.send(RedisCommand("RPUSH", outbox, .bytes(try entries[0].bytes())))
        let events = try await told(fixture)
        #expect(events.map(\.kind) == ["done", "done"] && Set(events.map(\.id)).count == 1)
    }

    @Test func `the reconciler finds an outbox whose worker died`() async throws {
        let fixture = try await start()
        let id = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        let (store, app) = (fixture.store, fixture.app)
        let late: Int64 = 1_795_000_100_000
        func look(_ round: Int64) async throws {
            _ = try await store.queue.reconcile(
                [app], before: late + round * 60_000 - 30_000, now: late + round * 60_000, limit: 10)
        }
        try await look(0)
        let due = RedisCommand("ZRANGE", store.keys.due(app, try fixture.partition()), "0", "-1")
        #expect(try await store.redis.send(due).array().count == 1, "a worker is woken for the outbox")
        #expect(try await kinds(fixture) == ["done"])
        try await look(1)
        let open = store.keys.open(app, try fixture.partition())
        #expect(try await store.redis.send(RedisCommand("ZCARD", open)).integer() == 0, "nothing is left to do")
    }

    @Test func `more ends than one round moves come in their order, and nonsense is dropped`() async throws {
        let fixture = try await start()
        let outbox = try fixture.key(Keyspace.outbox, Self.name)
        var ids: [PushID] = []
        for number in 0..<130 {
            let id = try await fixture.accepted(Self.name)
            ids.append(id)
            _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
            if number == 50 { try await fixture.store.redis.send(RedisCommand("RPUSH", outbox, "nonsense")) }
        }
        #expect(try await told(fixture).map(\.id) == ids.map { "\($0).1" })
        #expect(try await waiting(fixture) == 0)
    }

    @Test func `a stream keeps about as many events as it should`() async throws {
        let fixture = try await PushFixture.start(events: EventPolicy(keep: 100))
        let events = (0..<1_000).map { _ in OutgoingEvent.test(fixture.app, at: 0) }
        for start in stride(from: 0, to: 1_000, by: 100) {
            try await fixture.store.events.add(fixture.app, Array(events[start..<start + 100]))
        }
        let kept = try await fixture.events().map(\.id)
        #expect((100..<300).contains(kept.count) && kept == events.suffix(kept.count).map(\.id))
    }

    @Test func `a queue alone writes no stream, and gets only its events`() async throws {
        let fixture = try await PushFixture.start(events: EventPolicy(queued: [.cancelled]))
        let first = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, first), targets: 1)
        let second = try await fixture.accepted(Self.name)
        _ = try await fixture.store.pushes.cancel(fixture.app, second)
        #expect(try await told(fixture).isEmpty)
        let queued = try await fixture.store.redis.run("XRANGE", fixture.store.keys.eventQueue(fixture.app), "-", "+")
        #expect(try queued.events().events.map(\.id) == ["\(second).1"])
    }
}

extension PushFixture {
    /// The events of the app's stream.
    func events() async throws -> [StoredEvent] {
        let reader = store.eventReader()
        defer { reader.close() }
        return try await reader.events(app, after: "0-0", limit: 10_000, waits: false)
    }
}
