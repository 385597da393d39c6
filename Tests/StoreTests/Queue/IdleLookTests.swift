import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreGround

/// Counts what looks ask of Redis while nothing is stored, and that they find what another process stores meanwhile.
@Suite struct IdleLookTests {
    private static let rounds = 10
    private let apps = (0..<50).map { try! AppKey("app-\($0)") }

    /// How often Redis ran each command during `body`.
    private func calls(_ fixture: PushFixture, _ body: () async throws -> Void) async throws -> [String: Int] {
        let redis = fixture.store.redis
        let before = try await redis.calls()
        try await body()
        let after = try await redis.calls()
        // A connection that is made meanwhile asks for more.
        let others = ["info", "cluster", "client", "script", "hello", "auth", "select", "ping"]
        return after.merging(before) { $0 - $1 }.filter { name, count in
            count > 0 && !others.contains { name.hasPrefix($0) }
        }
    }

    @Test func `a look at all apps is one command while nothing is stored`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        guard !store.redis.isCluster else { return }
        let idle = try await calls(fixture) {
            for _ in 0..<Self.rounds {
                let look = try await store.look(apps, ending: apps, paused: [], readsPauses: true)
                #expect(look.next == NextDue() && look.pauses == [])
            }
        }
        #expect(idle == ["exists": Self.rounds])
        let one = apps[7]
        try await store.queue.schedule(.late(one, try ActivityName("match-1")), due: 9_000)
        #expect(try await store.pauses.pause(one, nil))
        let full = try await calls(fixture) {
            for _ in 0..<Self.rounds {
                let look = try await store.look(apps, ending: apps, paused: [], readsPauses: true)
                #expect(look.next.task == 9_000 && look.pauses?.map(\.app) == [one])
            }
        }
        // The first look reads all once.
        #expect(full["exists"] == Self.rounds && full["hgetall"] == apps.count + Self.rounds - 1, "\(full)")
        #expect(full["zrange"] == 5 * apps.count + Self.rounds - 1, "\(full)")
    }

    @Test func `an earlier timer of another process is found by the next look`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let other = Store(redis: store.redis)
        let name = try ActivityName("match-1")
        #expect(try await store.queue.nextDue([app]) == NextDue())
        for due: Int64 in [9_000, 8_000, 7_000] {
            try await other.queue.schedule(.retries(app, name, .high), due: due)
            #expect(try await store.queue.nextDue([app]).task == due)
        }
        try await store.redis.send(
            RedisCommand(
                "ZREM", store.keys.due(of: .retries(app, name, .high)),
                [
                    .string(WorkItem.retries(app, name, .high).member)
                ]))
        for _ in 0..<2 { #expect(try await store.queue.nextDue([app]) == NextDue()) }
        try await other.queue.schedule(.retries(app, name, .high), due: 6_000)
        #expect(try await store.queue.nextDue([app]).task == 6_000)
    }

    @Test func `a pause and its end are found by the next look`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let other = Store(redis: store.redis)
        func paused() async throws -> [Pause]? {
            try await store.look([app], ending: [], paused: [], readsPauses: true).pauses
        }
        #expect(try await paused() == [])
        let name = try ActivityName("match-1")
        #expect(try await other.pauses.pause(app, name))
        #expect(try await paused()?.count == 1)
        #expect(try await other.pauses.pause(app, nil))
        #expect(try await paused()?.count == 2)
        #expect(try await store.look([app], ending: [], paused: [], readsPauses: false).pauses == nil)
        for pause in try await other.pauses.list([app]) {
            #expect(try await other.pauses.resume(app, pause.name))
        }
        #expect(try await paused() == [])
    }

    @Test func `the reconciler and the tidying ask one command for all apps that have nothing`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        guard !store.redis.isCluster else { return }
        let idle = try await calls(fixture) {
            for _ in 0..<Self.rounds {
                _ = try await store.queue.reconcile(apps, before: 2, now: 1, limit: 10)
                #expect(try await store.listsToTidy(apps) == [:])
            }
        }
        #expect(idle == ["exists": 3 * Self.rounds])
    }

    @Test func `keys that hold something are found among thousands by halves`() async throws {
        let fixture = try await PushFixture.start()
        let (store, redis) = (fixture.store, fixture.store.redis)
        let keys = (0..<4_096).map { store.keys.followings(fixture.app, $0) }
        #expect(try await redis.holding(keys) == [])
        let some = Set([0, 1_000, 4_095].map { keys[$0] })
        for key in some { try await redis.send(RedisCommand("HSET", key, ["a", "b"])) }
        var found: Set<RedisKey> = []
        let asked = try await calls(fixture) { found = try await redis.holding(keys) }
        #expect(found == some)
        if !redis.isCluster { #expect(asked["exists"] ?? 0 <= 3 * 2 * 12, "\(asked)") }
        for key in keys[..<64] { try await redis.send(RedisCommand("HSET", key, ["a", "b"])) }
        #expect(try await redis.holding(Array(keys[..<64])) == Set(keys[..<64]))
    }

    @Test func `a whole round of the index of channels drops what has expired`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let expired = FollowingIndex.minutes(1_600_000_000_000)
        for bucket in [3, 299, 300, 65_535] {
            try await store.redis.send(
                RedisCommand("HSET", store.keys.followings(app, bucket), [.bytes([1, 2]), .bytes(expired)]))
        }
        #expect(try await store.followings.tidy(app, from: 65_500, count: 300) == 2)
        #expect(try await store.followings.tidy(app, from: 264, count: 300) == 2)
        #expect(try await store.followings.tidy(app, from: 264, count: 300) == 0)
    }
}
