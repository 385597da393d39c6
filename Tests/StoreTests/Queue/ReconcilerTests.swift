import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests that the reconciler finds work whose entry was lost, and changes nothing else.
@Suite struct ReconcilerTests {
    @Test func `names without work are forgotten, however many there are`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        let open = fixture.store.keys.open(fixture.app, try fixture.partition())
        for number in 0..<95 {
            try await fixture.store.redis.send(RedisCommand("ZADD", open, .int(1_000 + number), "old-\(number)"))
        }
        let id = try await fixture.publish("match-1", now: 1_040)
        #expect(id.isAccepted)
        let found = try await queue.reconcile([fixture.app], before: 10_000, now: 20_000, limit: 10)
        #expect(found == Reconciliation(woken: 1))
        let left = try await fixture.store.redis.send(RedisCommand("ZRANGE", open, "0", "-1")).array()
        #expect(try left.map { try $0.string() } == ["match-1"])
    }

    @Test func `a name is looked at by one worker in its time, and again later`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        _ = try await fixture.publish("match-1", now: 1_000)
        let first = try await queue.reconcile([fixture.app], before: 10_000, now: 40_000, limit: 10)
        let second = try await queue.reconcile([fixture.app], before: 10_001, now: 40_001, limit: 10)
        #expect(first.woken == 1 && second.woken == 0)
        let later = try await queue.reconcile([fixture.app], before: 40_001, now: 70_001, limit: 10)
        #expect(later.woken == 1)
    }

    @Test func `an app whose workers are down gets no entries from those of another`() async throws {
        let fixture = try await PushFixture.start()
        let (store, other) = (fixture.store, try AppKey("other"))
        for number in 0..<20 { _ = try await fixture.publish("match-\(number)", now: 1_000) }
        let before = try await store.queue.depth([fixture.app])
        for round in 1...5 {
            let now = Int64(round) * 60_000
            let found = try await store.queue.reconcile([other], before: now - 30_000, now: now, limit: 10)
            #expect(found == Reconciliation())
        }
        #expect(try await store.queue.depth([fixture.app]) == before)
        // Nor does it forget them. The app's own worker finds all of them later.
        let own = try await store.queue.reconcile([fixture.app], before: 400_000, now: 430_000, limit: 10)
        #expect(own == Reconciliation(woken: 20))
    }

    /// A publish in the same millisecond as the reconciler's look. It may commit after the name was seen without work.
    @Test func `a name that is published to while it is looked at stays`() async throws {
        let fixture = try await PushFixture.start()
        let (store, keys) = (fixture.store, fixture.store.keys)
        let open = keys.open(fixture.app, try fixture.partition())
        try await store.redis.send(RedisCommand("ZADD", open, "1000", "match-1"))
        let look = RedisCommand(
            Lua.queueLook, keys: ["open": open], ["before": "2000", "score": "40000.5", "most": "10"])
        #expect(try await store.redis.send(look).array().map { try $0.string() } == ["match-1"])
        _ = try await fixture.publish("match-1", now: 40_000)
        let forget = RedisCommand(Lua.queueForget, keys: ["timer": open], ["name": "match-1", "score": "40000.5"])
        #expect(try await store.redis.send(forget).integer() == 0)
    }

    @Test func `tasks without an entry are told from those that have one or wait in the timer`() async throws {
        let fixture = try await PushFixture.start()
        let (queue, id) = (fixture.store.queue, PushID.random())
        func shard(_ index: Int, _ name: String = "match-1") throws -> WorkItem {
            WorkItem(
                app: fixture.app, name: try ActivityName(name), push: id, priority: .high,
                part: .shard(index: index, count: 4))
        }
        let shards = try (0..<4).map { try shard($0) }
        #expect(try await queue.withoutEntry(shards) == shards)
        try await queue.add((0..<900).map { try shard($0 % 4, "other-\($0)") } + [shards[1]])
        try await queue.schedule(shards[2], due: 5)
        #expect(try await queue.withoutEntry(shards) == [shards[0], shards[3]])
        #expect(try await queue.withoutEntry([]).isEmpty)
    }
}

extension Acceptance {
    fileprivate var isAccepted: Bool { if case .accepted = self { true } else { false } }
}
