import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests bytes in Redis that Lamplighter did not write. They stop one thing, but not the work after it.
@Suite struct ForeignContentTests {
    @Test func `a retry queue that nobody can read does not hold up the others`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        try await fixture.retry(try await fixture.claimed("match-1", id), [[1, 2]], due: 5_000)
        let keys = fixture.store.keys
        let tag = keys.tag(fixture.app, try ActivityName("match-1"))
        let times = keys.waitingChannels(tag)
        try await fixture.store.redis.send(RedisCommand("ZADD", times, "1", "lineless", "2", "short"))
        try await fixture.store.redis.send(RedisCommand("HSET", keys.retryQueues(tag), "short", "line"))
        let lease = try await fixture.claimRetries("match-1")
        #expect(try await fixture.due(lease, now: 5_000).map(\.channel) == [[1, 2]])
        #expect(try await fixture.firstRetry("match-1") == 5_000)
        try await fixture.store.redis.send(RedisCommand("ZADD", times, "inf", "endless"))
        let due = try await fixture.due(lease, now: 5_000)
        try await fixture.settle(lease) { $0.finish(due[0], as: .delivered) }
        #expect(try await fixture.firstRetry("match-1") == .max, "and no number in Redis ends the process")
        #expect(try await fixture.ledger(id).state == .done)
    }

    @Test func `a removal that nobody can read is forgotten`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        let prune = TokenRemoval(channel: [1, 2], token: [3], deadSince: nil)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.remove(prune)
        _ = try await fixture.settle(claim, settlement)
        let key = fixture.store.keys.pendingRemovals(fixture.store.keys.tag(fixture.app, claim.lease.name))
        try await fixture.store.redis.send(RedisCommand("HSET", key, "channel", "?"))
        let pending = try await fixture.pendingRemovals("match-1")
        #expect(pending.map(\.removal) == [prune])
        _ = try await fixture.store.sweeps.confirm(
            fixture.app, claim.lease.name, pending.map { (pending: $0, as: .pruned) })
        #expect(try await fixture.ledger(id).state == .done)
        #expect(try await fixture.pendingRemovals("match-1").isEmpty)
    }

    @Test func `members of a timer that nobody can read are dropped and told, and hold up no other`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let due = store.keys.due(app, try fixture.partition())
        try await store.redis.send(RedisCommand("ZADD", due, "1", "nobody's", "2", .bytes([0xFF, 0xFE])))
        let item = WorkItem(app: app, name: try ActivityName("match-1"), push: .random(), priority: .high, part: .name)
        try await store.queue.schedule(item, due: 3)
        let moved = try await store.queue.moveDue([app], now: 10, limit: 10)
        #expect(moved.moved == 1 && moved.unreadable == [app: 2])
        let again = try await store.queue.moveDue([app], now: 10, limit: 10)
        #expect(again.moved == 0 && again.unreadable.isEmpty)
    }

    @Test func `an entry that nobody can read comes back to be dropped`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.store.queue.prepare([fixture.app])
        let stream = fixture.store.keys.stream(fixture.app, .namesHigh, try fixture.partition())
        try await fixture.store.redis.send(RedisCommand("XADD", stream, "*", .bytes([0xFF, 0xFE]), "x"))
        let id = try await fixture.accepted("match-1")
        let reader = try fixture.reader()
        defer { reader.close() }
        let (entries, unreadable) = try await reader.read(
            .namesHigh, [fixture.app], consumer: "w1", count: 10, block: .seconds(1))
        #expect(entries.map(\.item.push) == [id] && unreadable.count == 1)
    }

    @Test func `a name that cannot be read does not keep others from being woken`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.publish("broken", now: 1_000)
        _ = try await fixture.publish("match-1", now: 2_000)
        let keys = fixture.store.keys
        let broken = keys.unswept(keys.tag(fixture.app, try ActivityName("broken")))
        try await fixture.store.redis.send(RedisCommand("SET", broken, "not a set"))
        let open = keys.open(fixture.app, try fixture.partition())
        try await fixture.store.redis.send(RedisCommand("ZADD", open, "1", .bytes([0xFF]), "1", "\u{7}"))
        let first = try await fixture.store.queue.reconcile([fixture.app], before: 10_000, now: 20_000, limit: 3)
        #expect(first == Reconciliation(woken: 1, dropped: 2))
        let again = try await fixture.store.queue.reconcile([fixture.app], before: 10_000, now: 20_000, limit: 3)
        #expect(again == Reconciliation(), "it waits its turn")
    }

    @Test func `a number that is too large for sums is none`() async throws {
        let fixture = try await PushFixture.start()
        let redis = fixture.store.redis
        let (key, scores) = (RedisKey("foreign"), RedisKey("scores"))
        #expect(StoredNumber.read("9007199254740992") == 9_007_199_254_740_992)
        #expect(StoredNumber.read("-5") == -5)
        for text in ["9007199254740993", "9223372036854775807", "-9223372036854775808", "1e3", ""] {
            #expect(StoredNumber.read(text) == nil, "\(text)")
        }
        #expect(StoredNumber.read(Int64.max) == nil && StoredNumber.read(Int64(7)) == 7)
        try await redis.send(RedisCommand("HSET", key, "a", "9223372036854775807", "b", "7"))
        let hash = try await redis.hash(key)
        #expect(hash.number("a") == nil && hash.number("b") == 7)
        await #expect(throws: StoreError.self) { try await redis.run("HINCRBY", key, "a", "0").integer() }
        try await redis.send(RedisCommand("ZADD", scores, "9e18", "a", "-9e18", "b", "inf", "c", "5", "d"))
        var times: [Int64?] = []
        for member in ["a", "b", "c", "d"] {
            times.append(try await redis.run("ZSCORE", scores, .string(member)).optionalTime())
        }
        let least: Int64 = -(1 << 53)
        #expect(times == [.max, least, .max, 5])
        let beat = #"{"at":9223372036854775807,"started":1,"apps":{}}"#
        #expect(Heartbeat(worker: "w", text: beat) == nil)
    }
}
