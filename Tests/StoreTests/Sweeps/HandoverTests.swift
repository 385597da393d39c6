import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests work that goes from one worker to another: released leases, and entries of dead workers.
@Suite struct HandoverTests {
    @Test func `a renewal that was under way does not take a released shard back`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id, owner: "leaving")
        #expect(try await fixture.store.sweeps.giveBack(claim.lease))
        #expect(try await fixture.store.sweeps.renew(claim.lease, for: .seconds(10)) == false)
        #expect(try await fixture.claimed("match-1", id, owner: "next").lease.push == id)
    }

    @Test func `an entry of a dead worker is found behind many of a living one`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        try await queue.prepare([fixture.app])
        let name = try ActivityName("match-1")
        try await queue.add(
            (0..<101).map { _ in WorkItem(app: fixture.app, name: name, push: .random(), priority: .high, part: .name) }
        )
        let reader = try fixture.reader()
        defer { reader.close() }
        let (busy, _) = try await reader.read(
            .namesHigh, [fixture.app], consumer: "busy", count: 100, block: .seconds(1))
        let (left, _) = try await reader.read(.namesHigh, [fixture.app], consumer: "dead", count: 1, block: .seconds(1))
        #expect(busy.count == 100 && left.count == 1)
        // Make the entry look as if the dead worker read it an hour ago.
        let stream = fixture.store.keys.stream(fixture.app, .namesHigh, try fixture.partition())
        let group = RedisArgument.string(WorkQueue.group)
        let entry = RedisArgument.string(try #require(left.first).place.id)
        try await fixture.store.redis.send(
            RedisCommand("XCLAIM", stream, group, "dead", "0", entry, "IDLE", "3600000", "JUSTID"))
        let (claimed, _) = try await queue.claim(
            .namesHigh, fixture.app, consumer: "next", idle: .seconds(1_800), count: 1)
        #expect(claimed.map(\.place) == left.map(\.place))
    }

    /// A worker of this name reads an entry, and dies.
    private func readOne(_ fixture: PushFixture, _ consumer: String) async throws -> WorkEntry {
        try await fixture.store.queue.prepare([fixture.app])
        let item = WorkItem(
            app: fixture.app, name: try ActivityName("match-1"), push: .random(), priority: .high, part: .name)
        try await fixture.store.queue.add([item])
        let reader = try fixture.reader()
        defer { reader.close() }
        let (entries, _) = try await reader.read(
            .namesHigh, [fixture.app], consumer: consumer, count: 1, block: .seconds(1))
        return try #require(entries.first)
    }

    @Test func `a dead worker is forgotten once it has no entry`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        let entry = try await readOne(fixture, "dead")
        // Redis counts whole milliseconds. A worker that has just asked for work is silent for none.
        let none = Duration.milliseconds(-1)
        try await queue.forgetDeadWorkers([fixture.app], silence: none)
        #expect(try await queue.workers([fixture.app]).map(\.name) == ["dead"], "its work is not claimed yet")
        try await queue.acknowledge([entry.place])
        try await queue.forgetDeadWorkers([fixture.app], silence: .seconds(3_600))
        #expect(try await queue.workers([fixture.app]).map(\.name) == ["dead"], "it may live")
        try await queue.forgetDeadWorkers([fixture.app], silence: none)
        #expect(try await queue.workers([fixture.app]).isEmpty)
    }

    /// Replication may end between two commands. An entry that is neither pending nor new would count as waiting for
    /// ever.
    @Test func `a replica that has the half of an acknowledgement does the rest`() async throws {
        let fixture = try await PushFixture.start()
        let queue = fixture.store.queue
        let entry = try await readOne(fixture, "old")
        let stream = fixture.store.keys.stream(of: entry.item)
        let id = RedisArgument.string(entry.place.id)
        try await fixture.store.redis.send(WorkQueue.acknowledgement(stream, [id])[0])
        let (again, unreadable) = try await queue.claim(
            .namesHigh, fixture.app, consumer: "new", idle: .zero, count: 1)
        #expect(again.isEmpty)
        try await queue.acknowledge(unreadable)
        let pending = try await fixture.store.redis.send(RedisCommand("XPENDING", stream, .string(WorkQueue.group)))
        #expect(try pending[0].integer() == 0)
        #expect(try await fixture.store.redis.send(RedisCommand("XLEN", stream)).integer() == 0)
    }

    @Test func `a task whose stream is unusable stays due`() async throws {
        let fixture = try await PushFixture.start()
        let item = WorkItem(
            app: fixture.app, name: try ActivityName("match-1"), push: .random(), priority: .high, part: .retries)
        try await fixture.store.queue.schedule(item, due: 1_000)
        let stream = fixture.store.keys.stream(of: item)
        try await fixture.store.redis.send(RedisCommand("SET", stream, "not a stream"))
        _ = try? await fixture.store.queue.moveDue([fixture.app], now: 2_000, limit: 10)
        try await fixture.store.redis.send(RedisCommand("DEL", stream))
        #expect(try await fixture.store.queue.moveDue([fixture.app], now: 2_000, limit: 10).moved == 1)
    }

    @Test func `a begun push says whether older ones have pending removals`() async throws {
        let fixture = try await PushFixture.start()
        let claim = try await fixture.claimed(
            "match-1", try await fixture.accepted("match-1", event: .end, audience: .channel(.random())))
        #expect(!claim.hasPendingRemovals)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.remove(TokenRemoval(channel: [1, 2], token: [3], endedAt: 1_795_000_000_123))
        guard case .ok(_, true, let leftovers) = try await fixture.settle(claim, settlement) else {
            throw Unexpected(what: "not settled")
        }
        #expect(!leftovers.hasPendingRemovals, "its own the caller knows")
        _ = try await fixture.accepted("match-1")
        #expect(
            try await fixture.claimed("match-1").hasPendingRemovals, "its worker may have died before it applied them")
    }
}
