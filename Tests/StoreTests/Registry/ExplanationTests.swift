import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// "Channel X follows match-42 and saw nothing."
@Suite struct ExplanationTests {
    private let channel = try! ChannelID("device-1")
    private let name = try! ActivityName("match-1")
    /// The fixture's clock.
    private let now: Int64 = 1_795_000_002_000

    @Test func `a channel that follows gets the next update`() async throws {
        let fixture = try await PushFixture.start()
        try await track(fixture)
        #expect(try await !explain(fixture).getsNextUpdate, "no worker runs")
        try await beat(fixture, ago: 31_000)
        #expect(try await !explain(fixture).hasWorker, "it is silent for half a minute")
        try await beat(fixture)
        let found = try await explain(fixture)
        #expect(found.presence == .follows && found.getsNextUpdate && found.following?.token == [7])
        #expect(found.lastPush == nil && found.waiting == nil && found.alarms.isEmpty)
    }

    @Test func `a channel that does not follow, and why`() async throws {
        let fixture = try await PushFixture.start()
        let (registry, app) = (fixture.store.registry, fixture.app)
        #expect(try await explain(fixture).presence == .unknown)
        try await track(fixture)
        try await registry.untrack(app, .activity(name), [Untrack(channel: channel, removedAt: now - 500)])
        #expect(try await explain(fixture).presence == .left(at: now - 500))
        try await track(fixture, at: now - 400)
        let dead = TokenRemoval(channel: channel.stored, token: [7], deadSince: now - 300, reason: "Unregistered")
        #expect(try await registry.prune(app, .activity(name), [dead]) == [.pruned])
        let pruned = try await explain(fixture)
        #expect(pruned.presence == .pruned(at: now - 300) && !pruned.getsNextUpdate && pruned.following == nil)
        let later = Store(
            redis: RedisClient(url: fixture.server.url, scripts: Store.scripts, logger: .quiet),
            clock: { 1_795_000_002_000 + 9 * 3_600_000 })
        try await track(fixture, at: now)
        #expect(try await later.explain(app, name, channel).presence == .over(registeredAt: now, on: .ios))
    }

    @Test func `a 400 prunes at the time of its answer, and a later 410 names its own`() async throws {
        let fixture = try await PushFixture.start()
        let (registry, app) = (fixture.store.registry, fixture.app)
        func prune(_ since: Int64?) async throws -> Explanation.Presence {
            let dead = TokenRemoval(channel: channel.stored, token: [7], deadSince: since)
            #expect(try await registry.prune(app, .activity(name), [dead]) == [.pruned])
            return try await explain(fixture).presence
        }
        try await track(fixture, at: now - 900)
        #expect(try await prune(nil) == .pruned(at: now))
        // A device whose clock is slow registers the token again: it need only be newer than what was pruned.
        try await track(fixture, at: now - 800)
        #expect(try await prune(nil) == .pruned(at: now))
        #expect(try await prune(now - 500) == .pruned(at: now - 500))
        let again = Registration(channel: channel, token: PushToken(bytes: [7])!, registeredAt: now - 600)
        #expect(try await registry.track(app, .activity(name), [again]) == [.stale])
        try await track(fixture, at: now - 400)
    }

    @Test func `a start that was sent, until the card's token comes`() async throws {
        let fixture = try await PushFixture.start()
        let late = fixture.store.lateJoiners
        try await late.expect(fixture.app, name, [channel.stored], startedBy: 3, now: now - 700)
        let started = try await explain(fixture)
        #expect(started.presence == .unknown && started.startSentAt == now - 700 && !started.getsNextUpdate)
        try await track(fixture, at: now)
        let follows = try await explain(fixture)
        #expect(follows.presence == .follows && follows.startSentAt == nil)
    }

    @Test func `a name of many buckets`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1_000)
        try await track(fixture)
        try await fixture.store.registry.untrack(
            fixture.app, .activity(name), [Untrack(channel: channel, removedAt: now)])
        #expect(try await explain(fixture).presence == .left(at: now))
    }

    @Test func `quarantine, a waiting push, a closed name and a dead letter`() async throws {
        let fixture = try await PushFixture.start()
        let (store, member) = (fixture.store, RedisArgument.bytes(channel.stored))
        try await track(fixture)
        try await beat(fixture)
        let mark = QuarantineMark(reason: "BadDeviceToken", since: now, token: [7])
        let quarantine = try fixture.key(Keyspace.quarantine)
        try await store.redis.send(RedisCommand("HSET", quarantine, member, .bytes(mark.storedValue)))
        let held = try await explain(fixture)
        #expect(held.quarantine == mark && !held.getsNextUpdate && held.following?.isQuarantined == true)
        // The mark of an older token says nothing about the present one.
        let old = QuarantineMark(reason: "BadDeviceToken", since: now, token: [8])
        try await store.redis.send(RedisCommand("HSET", quarantine, member, .bytes(old.storedValue)))
        #expect(try await explain(fixture).getsNextUpdate)

        let push = try await fixture.accepted("match-1")
        let queue: [UInt8] = [0, 3, 0] + push.uuid.bytes
        try await store.redis.send(
            RedisCommand("HSET", try fixture.key(Keyspace.retryQueues), member, .bytes(queue)))
        try await store.redis.send(
            RedisCommand("ZADD", try fixture.key(Keyspace.waitingChannels), .int(now + 5_000), member))
        let waiting = try await explain(fixture)
        #expect(waiting.waiting == Explanation.Waiting(push: push, attempts: 3, isOpen: false, due: now + 5_000))
        #expect(waiting.getsNextUpdate && waiting.lastPush?.id == push)
        try await store.redis.send(RedisCommand("HSET", try fixture.key(Keyspace.openRequests), member, "request"))
        #expect(try await explain(fixture).waiting?.isOpen == true)

        let end = try await fixture.accepted("match-1", event: .end)
        let letter = store.keys.deadChannels(store.keys.tag(fixture.app, name), end)
        try await store.redis.send(RedisCommand("HSET", letter, member, "Shutdown"))
        let ended = try await explain(fixture)
        #expect(ended.nameHasEnded && !ended.getsNextUpdate && ended.givenUp == "Shutdown")
    }

    /// The second push of a queue goes out next if it may supersede the first, or if the first was stopped.
    @Test func `the push that the channel gets next, not the first of its queue`() async throws {
        let fixture = try await PushFixture.start()
        let (store, member) = (fixture.store, RedisArgument.bytes(channel.stored))
        try await track(fixture)
        let some = Audience.tag("a", group: "device")
        let pushes = [
            try await fixture.push(audience: some), try await fixture.push(), try await fixture.push(alert: true),
        ]
        func waiting(_ first: Int, _ second: Int) async throws -> PushID? {
            let queue: [UInt8] = [0, 1, 0] + pushes[first].uuid.bytes + pushes[second].uuid.bytes
            try await store.redis.send(
                RedisCommand("HSET", try fixture.key(Keyspace.retryQueues), member, .bytes(queue)))
            return try await explain(fixture).waiting?.push
        }
        #expect(try await waiting(0, 1) == pushes[1])
        #expect(try await waiting(2, 1) == pushes[2], "an alert is not superseded")
        _ = try await store.pushes.cancel(fixture.app, pushes[2])
        #expect(try await waiting(2, 1) == pushes[1], "it was cancelled")
        let open = [UInt8](repeating: 0, count: 9) + pushes[0].uuid.bytes + Array("1 1".utf8)
        try await store.redis.send(RedisCommand("HSET", try fixture.key(Keyspace.openRequests), member, .bytes(open)))
        #expect(try await waiting(0, 1) == pushes[0], "its request is open")
    }

    private func explain(_ fixture: PushFixture) async throws -> Explanation {
        try await fixture.store.explain(fixture.app, name, channel)
    }

    /// A worker of the app runs.
    private func beat(_ fixture: PushFixture, ago: Int64 = 0) async throws {
        let at = fixture.store.time.now() - ago
        let heartbeat = Heartbeat(
            worker: "one-00000000", at: at, startedAt: at, loads: [fixture.app: Heartbeat.Load()])
        try await fixture.store.heartbeats.write(heartbeat)
    }

    private func track(_ fixture: PushFixture, at time: Int64 = 1_795_000_001_000) async throws {
        let token = PushToken(bytes: [7])!
        let results = try await fixture.store.registry.track(
            fixture.app, .activity(name), [Registration(channel: channel, token: token, registeredAt: time)])
        #expect(results == [.stored])
    }
}
