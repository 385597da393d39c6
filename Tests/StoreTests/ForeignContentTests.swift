import LiveActivity
import Redis
import Testing

@testable import Store

/// Bytes in Redis that Lamplighter did not write stop one thing, not everything that stands behind it.
@Suite struct ForeignContentTests {
    @Test func aRetryThatNobodyCanReadDoesNotHoldUpTheOthers() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        let good = RetryToken(channel: [1, 2], token: [3, 4], registeredAt: 1_795_000_000_000, attempts: 1)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.retry(good, due: 5_000)
        _ = try await fixture.settle(claim, settlement)
        let key = RedisArgument.string(
            fixture.store.keys.retries(fixture.store.keys.tag(fixture.app, claim.lease.name), id))
        let enormous = RetryToken(
            channel: [1], token: [UInt8](repeating: 7, count: 70_000), registeredAt: 0, attempts: 1
        ).member
        try await fixture.store.redis.send(RedisCommand("ZADD", [key, "1", "short", "2", .bytes(enormous)]))
        let lease = try await fixture.claimRetries("match-1", id)
        let due = try await fixture.store.sweeps.dueRetries(lease.lease, now: 5_000, limit: 10)
        #expect(due == [good])
        try await fixture.store.redis.send(RedisCommand("ZADD", [key, "inf", "endless"]))
        var done = Settlement()
        done.finish(good, as: .delivered)
        guard case .ok(_, _, let leftovers) = try await fixture.settle(lease, done) else {
            throw Unexpected(what: "settled")
        }
        #expect(leftovers.firstRetry != nil, "and no number in Redis ends the process")
    }

    @Test func aPruneThatNobodyCanReadIsStruckOff() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        let prune = Prune(channel: [1, 2], token: [3], deadSince: nil)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.owe(prune)
        _ = try await fixture.settle(claim, settlement)
        let key = RedisArgument.string(
            fixture.store.keys.owed(fixture.store.keys.tag(fixture.app, claim.lease.name), id))
        try await fixture.store.redis.send(RedisCommand("HSET", [key, "channel", "?"]))
        #expect(try await fixture.store.sweeps.owedPrunes(fixture.app, claim.lease.name, id) == [prune])
        var strike = Settlement()
        strike.strike(prune, as: .pruned)
        _ = try await fixture.store.sweeps.settle(
            fixture.app, claim.lease.name, id, lease: nil, for: fixture.lease, strike)
        #expect(try await fixture.ledger(id).state == .done)
    }

    @Test func anEntryThatNobodyCanReadComesBackToBeDropped() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.store.queue.prepare([fixture.app])
        let stream = RedisArgument.string(fixture.store.keys.stream(fixture.app, .namesHigh))
        try await fixture.store.redis.send(RedisCommand("XADD", [stream, "*", .bytes([0xFF, 0xFE]), "x"]))
        let id = try await fixture.accepted("match-1")
        let reader = fixture.store.reader()
        defer { reader.close() }
        let (entries, unreadable) = try await reader.read(
            .namesHigh, [fixture.app], consumer: "w1", count: 10, block: .seconds(1))
        #expect(entries.map(\.item.push) == [id] && unreadable.count == 1)
    }

    @Test func aNameThatCannotBeReadDoesNotKeepOthersFromBeingWoken() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.publish("broken", now: 1_000)
        _ = try await fixture.publish("match-1", now: 2_000)
        let keys = fixture.store.keys
        let broken = RedisArgument.string(keys.unswept(keys.tag(fixture.app, try ActivityName("broken"))))
        try await fixture.store.redis.send(RedisCommand("SET", [broken, "not a set"]))
        #expect(try await fixture.store.queue.reconcile(before: 10_000, now: 20_000, limit: 10) == 1)
        #expect(
            try await fixture.store.queue.reconcile(before: 10_000, now: 20_000, limit: 10) == 0, "it waits its turn")
    }
}
