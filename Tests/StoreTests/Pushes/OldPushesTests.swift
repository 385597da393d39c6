import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// An app that has more pushes than it may (`pushes.most`) loses the oldest ones that nothing needs any more.
@Suite struct OldPushesTests {
    private let hour: Int64 = 3_600_000

    /// Accepts a push that is so old, and cancels it unless it is to wait.
    private func push(
        _ fixture: PushFixture, _ name: String, hours: Int64, index: Int = 0, event: ActivityEvent = .update,
        isFinal: Bool = true
    ) async throws -> PushID {
        let time = fixture.store.time.now() - hours * hour
        let id = PushID.ordered(at: time, index: index)
        guard case .accepted = try await fixture.publish(name, event: event, id: id, now: time)
        else { throw Unexpected(what: "no push") }
        if isFinal { _ = try await fixture.store.pushes.cancel(fixture.app, id) }
        return id
    }

    /// Takes steps until there is nothing to do for now. Returns how many pushes each removed.
    private func forget(_ fixture: PushFixture, most: Int, limit: Int = 500) async throws -> [Int] {
        var (old, steps) = (OldPushes(), [Int]())
        while let removed = try await fixture.store.pushes.forgetOldest(
            fixture.app, most: most, limit: limit, &old)
        { steps.append(removed) }
        return steps
    }

    private func history(_ fixture: PushFixture) async throws -> [PushID] {
        try await fixture.store.pushes.history(fixture.app, PushFilter(), after: nil, limit: 100).pushes.map(\.id)
    }

    @Test(.enabled(if: !RedisServer.isCluster, "there an hour has a set for each partition"))
    func `the oldest go, a few with each step, until no more are left than wanted`() async throws {
        let fixture = try await PushFixture.start()
        var ids: [PushID] = []
        for number in 0..<12 {
            ids.append(try await push(fixture, "order-\(number)", hours: 40 - Int64(number / 3), index: number))
        }
        #expect(try await forget(fixture, most: 12) == [])
        #expect(try await forget(fixture, most: 0) == [])
        // Three in an hour: two, then one, as long as there are more than five.
        #expect(try await forget(fixture, most: 5, limit: 2) == [2, 1, 2, 1, 2])
        #expect(try await history(fixture) == ids.suffix(4).sorted { $0.description > $1.description })
        #expect(try await fixture.store.pushes.kept(fixture.app) == 4)
        let records = ids.enumerated().map { number, id in
            RedisCommand("EXISTS", fixture.store.keys.push("{shop:order-\(number)}", id))
        }
        let exist = try await fixture.store.redis.run(records).map { try $0.integer() }
        #expect(exist == Array(repeating: 0, count: 8) + Array(repeating: 1, count: 4))
    }

    @Test func `a push that something may need stays`() async throws {
        let fixture = try await PushFixture.start()
        let (keys, now) = (fixture.store.keys, fixture.store.time.now())
        var stays: Set<PushID> = [
            try await push(fixture, "waits", hours: 30, isFinal: false),
            // Its publish may be repeated with the same Idempotency-Key.
            try await push(fixture, "young", hours: 24),
        ]
        let needed: [(Keyspace) -> (String, PushID) -> RedisKey] = [
            Keyspace.deadLetter, Keyspace.tasks, { keys in { tag, _ in keys.retryQueues(tag) } },
            { keys in { tag, _ in keys.pendingRemovals(tag) } }, { keys in { tag, _ in keys.broadcastQueue(tag) } },
            { keys in { tag, _ in keys.outbox(tag) } },
        ]
        for (number, key) in needed.enumerated() {
            let id = try await push(fixture, "needed-\(number)", hours: 30)
            let tag = keys.tag(fixture.app, try ActivityName("needed-\(number)"))
            try await fixture.store.redis.run("SET", key(keys)(tag, id), "1")
            stays.insert(id)
        }
        let state = try await push(fixture, "state", hours: 30)
        let states = try fixture.key(Keyspace.contentStates, "state")
        try await fixture.store.redis.run("HSET", states, "*", .string("1 update \(state)"))
        stays.insert(state)
        // A state that was begun late, and another that no card can be waiting for any more.
        for (name, hours) in [("late", 12), ("long-ago", 14)] as [(String, Int64)] {
            let id = try await push(fixture, name, hours: 30)
            let newest = RedisArgument.string("1 update \(id) \(now - hours * hour)")
            try await fixture.store.redis.run("HSET", try fixture.key(Keyspace.name, name), "newest", newest)
            if hours < 13 { stays.insert(id) }
        }
        // A schedule of the day before yesterday went out just now.
        let schedule = PushID.ordered(at: now - 50 * hour, index: 0)
        _ = try await fixture.publish("schedule", id: schedule, now: now - hour)
        _ = try await fixture.store.pushes.cancel(fixture.app, schedule)
        stays.insert(schedule)
        _ = try await push(fixture, "old", hours: 30)
        #expect(try await forget(fixture, most: 1).reduce(0, +) == 2)
        #expect(Set(try await history(fixture)) == stays)
    }

    @Test func `a push that went out long after its id was made leaves both of its entries`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let id = PushID.ordered(at: now - 60 * hour, index: 0)
        _ = try await fixture.publish("schedule", id: id, now: now - 40 * hour)
        _ = try await fixture.store.pushes.cancel(fixture.app, id)
        #expect(try await fixture.store.pushes.kept(fixture.app) == 2)
        #expect(try await forget(fixture, most: 1).reduce(0, +) == 1)
        #expect(try await fixture.store.pushes.kept(fixture.app) == 0)
    }

    @Test func `pushes that are packed go like others, and their blocks with them`() async throws {
        let fixture = try await PushFixture.start()
        let (index, redis) = (fixture.store.pushes.index, fixture.store.redis)
        var ids: [PushID] = []
        for number in 0..<260 {
            let isFinal = number % 50 != 7
            ids.append(try await push(fixture, "order-\(number)", hours: 30, index: number, isFinal: isFinal))
        }
        for hour in Set(ids.map { $0.uuid.time / hour }) {
            for slice in 0..<fixture.store.keys.partitions {
                try await redis.run(index.pack(.init(app: fixture.app, hour: hour, slice: slice), before: nil))
            }
        }
        #expect(try await fixture.store.pushes.kept(fixture.app) == 260)
        #expect(try await forget(fixture, most: 200, limit: 60).reduce(0, +) >= 60)
        let left = try await fixture.store.pushes.kept(fixture.app)
        #expect(left <= 200 && left > 100)
        #expect(try await forget(fixture, most: 1, limit: 60).reduce(0, +) == left - 6)
        #expect(try await fixture.store.pushes.kept(fixture.app) == 6)
        let open = ids.enumerated().filter { $0.offset % 50 == 7 }.map(\.element)
        #expect(Set(try await history(fixture)) == Set(open))
        #expect(try await index.names(of: ids, fixture.app).compactMap(\.self).count == 6)
    }

    @Test(.enabled(if: !RedisServer.isCluster, "there an hour has a set for each partition"))
    func `it looks again after minutes, not with each step`() async throws {
        let fixture = try await PushFixture.start()
        for number in 0..<6 { _ = try await push(fixture, "order-\(number)", hours: 30, index: number) }
        var old = OldPushes()
        func step() async throws -> Int? {
            try await fixture.store.pushes.forgetOldest(fixture.app, most: 1, limit: 2, &old)
        }
        _ = try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
        #expect(try await [step(), step(), step(), step(), step()] == [2, 2, 2, nil, nil])
        let redis = fixture.store.redis
        let measurements = try await redis.calls(of: "zcard")
        #expect(measurements == 1, "one an hour, once")
        #expect(try await redis.calls(of: "exists") < 30, "hours without pushes are not counted")
    }

    @Test func `only the newest hours of an app that has room are measured again`() async throws {
        let fixture = try await PushFixture.start()
        for number in 0..<6 { _ = try await push(fixture, "order-\(number)", hours: 30, index: number) }
        var old = OldPushes()
        func steps() async throws -> (removed: [Int], measured: Int) {
            _ = try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
            var removed: [Int] = []
            while let some = try await fixture.store.pushes.forgetOldest(fixture.app, most: 10, limit: 1, &old) {
                removed.append(some)
            }
            // Eleven minutes pass.
            old.measuredAt? -= 660_000
            return (removed, try await fixture.store.redis.calls(of: "zcard"))
        }
        #expect(try await steps().measured >= 1)
        let again = try await steps()
        // The hour before, this one and the next.
        #expect(again.removed == [] && again.measured <= (fixture.store.redis.isCluster ? 3 * 8 : 0), "\(again)")
        for number in 6..<11 { _ = try await push(fixture, "order-\(number)", hours: 0, index: number) }
        #expect(try await steps().removed.reduce(0, +) == 1)
        old.whole?.at -= 6 * hour
        #expect(try await steps().measured >= 2, "all hours, after a while")
    }

    @Test func `an entry of a push that is not accepted yet stays`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await push(fixture, "other", hours: 30)
        let (index, now) = (fixture.store.pushes.index, fixture.store.time.now())
        // A schedule of yesterday is about to be published.
        let id = PushID.ordered(at: now - 30 * hour, index: 5)
        try await fixture.store.redis.run(index.note(fixture.app, id, ActivityName("match-1"), now: now))
        #expect(try await forget(fixture, most: 1).reduce(0, +) == 1)
        #expect(try await index.name(of: id, fixture.app)?.rawValue == "match-1")
    }
}
