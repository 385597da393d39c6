import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests leases after a failover to a Redis whose clock is behind: their deadlines lie an hour ahead.
@Suite struct LeaseClockTests {
    private let name = try! ActivityName("match-1")
    private static let ahead: Int64 = 3_600_000

    /// Moves a lease's deadline an hour ahead, calls `claim`, and demands a deadline of at most the lease's length.
    private func expectShort(
        _ fixture: PushFixture, _ key: RedisKey, _ field: String, _ claim: () async throws -> Void
    ) async throws {
        let redis = fixture.store.redis
        let far = try await fixture.redisTime() + Self.ahead
        try await redis.send(RedisCommand("HSET", key, .string(field), .int(far)))
        try await claim()
        let deadline = Int64(try await redis.send(RedisCommand("HGET", key, .string(field))).string()) ?? far
        let left = deadline - (try await fixture.redisTime())
        #expect(left <= fixture.lease.milliseconds, "\(field) of \(key)")
    }

    @Test func `no lease lasts longer than its length by a clock that was set back`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app, lease) = (fixture.store, fixture.app, fixture.lease)
        let tag = store.keys.tag(app, name)
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        let tasks = store.keys.tasks(tag, id)
        try await expectShort(fixture, tasks, "0/1:d") {
            guard case .held = try await fixture.begin("match-1", id, owner: "w2").begun else {
                throw Unexpected(what: "two owners")
            }
        }
        try await expectShort(fixture, tasks, "0/1:d") {
            let item = WorkItem(app: app, name: name, push: id, priority: .high, part: .shard(index: 0, count: 1))
            guard case .held(let left) = try await store.sweeps.claim(item, owner: "w2", lease: lease) else {
                throw Unexpected(what: "two owners")
            }
            #expect(left <= lease)
        }
        #expect(try await store.sweeps.renew(claim.lease, for: lease), "its owner still has it")

        try await fixture.retry(claim, [[1, 2]], due: 5_000)
        _ = try await fixture.claimRetries("match-1")
        try await expectShort(fixture, store.keys.nameLeases(tag), "r:d") {
            guard
                case .held(let left) = try await store.sweeps.claimRetries(app, name, owner: "w2", lease: lease)
            else { throw Unexpected(what: "two owners") }
            #expect(left <= lease)
        }

        _ = try await store.broadcasts.claim(app, owner: "w1", for: lease)
        try await expectShort(fixture, store.keys.broadcastLease(app), "d") {
            let other = try await store.broadcasts.claim(app, owner: "w2", for: lease)
            #expect(other == nil)
        }
    }

    @Test func `a renewal may be longer than the claim`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        #expect(try await fixture.store.sweeps.renew(claim.lease, for: fixture.lease * 10))
        let item = WorkItem(
            app: fixture.app, name: name, push: id, priority: .high, part: .shard(index: 0, count: 1))
        guard case .held(let left) = try await fixture.store.sweeps.claim(item, owner: "w2", lease: fixture.lease)
        else { throw Unexpected(what: "two owners") }
        #expect(left > fixture.lease)
    }
}
