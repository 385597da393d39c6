import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

/// To forget a person: nothing of a channel is left in Redis.
@Suite struct ForgettingTests {
    private let channel = try! ChannelID("forget-me-please")
    private let other = try! ChannelID("other")
    private let now: Int64 = 1_795_000_002_000

    /// Under names of one bucket, and under large ones.
    @Test(arguments: [1, BucketCount.large])
    func `nothing in Redis holds the channel afterwards, and nobody else loses anything`(buckets: Int) async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        for name in ["match-1", "match-3"] {
            try await store.registry.buckets.make(
                buckets, in: store.keys.place(app, .activity(try ActivityName(name))))
        }
        try await fill(fixture, channel)
        try await fill(fixture, other)
        #expect(try await traces(of: channel, fixture).count > 8)
        let before = try await traces(of: other, fixture)
        try await forget(fixture)
        let left = try await traces(of: channel, fixture)
        let keys = fixture.store.keys
        let tags = try ["match-1", "match-2", "match-3"].map { keys.tag(app, .activity(try ActivityName($0))) }
        let names = (tags + [keys.tag(app, .startTokens(of: "T"))]).map { keys.beingForgotten($0).description }
        let key = try await store.registry.buckets.hashKey()
        let note = keys.followings(app, FollowingIndex.bucket(of: channel.stored, key))
        #expect(left == (names + [keys.forgetSteps(app).description, note.description]).sorted())
        // A worker looks once more a minute later.
        let later = fixture.store(at: now + 2 * Forgetting.pause)
        #expect(try await later.forgetting.runDue(app, limit: 100) > 0)
        let last = try await traces(of: channel, fixture)
        #expect(last.isEmpty)
        #expect(try await traces(of: other, fixture) == before)
        #expect(try await store.story(app, channel) == nil)
        #expect(try await store.story(app, other)?.tokens.count == 3)
    }

    @Test func `a process that dies after the note leaves the work to a worker`() async throws {
        let fixture = try await PushFixture.start()
        try await fill(fixture, channel)
        _ = try await fixture.store.forgetting.note(fixture.app, [channel])
        #expect(try await fixture.store.forgetting.runDue(fixture.app, limit: 100) == 0, "not due yet")
        try await lookAgain(fixture, turns: 3)
        #expect(try await traces(of: channel, fixture).isEmpty)
    }

    @Test func `what the channel registers after the request stays`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await track(fixture, "match-1", channel, at: now)
        let time = try await store.forgetting.note(app, [channel])
        let later = fixture.store(at: now + 1_000)
        try await track(fixture, "match-1", channel, at: now + 500, through: later)
        try await later.channels.register(app, channel, tags: TagChange(), namedUser: "ann")
        try await later.forgetting.forget(app, [channel], notedAt: time)
        let muchLater = fixture.store(at: now + 2 * Forgetting.pause)
        _ = try await muchLater.forgetting.runDue(app, limit: 100)
        let story = try #require(try await store.story(app, channel))
        #expect(story.tokens.map(\.place.stored) == ["match-1"])
        #expect(story.record?.namedUser == "ann")
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 0)
    }

    /// A registration of one channel, and of two in one call.
    @Test(arguments: [1, 2]) func `a registration that arrives after the request stays if its device's clock is slow`(
        count: Int
    ) async throws {
        let fixture = try await PushFixture.start()
        let (store, app, name) = (fixture.store, fixture.app, try ActivityName("match-1"))
        try await track(fixture, "match-1", channel, at: now - 60_000)
        try await forget(fixture)
        let registrations = [registration(channel, now - 20_000), registration(other, now - 20_000)]
        _ = try await fixture.store(at: now + 3_000).registry.track(
            app, .activity(name), Array(registrations.prefix(count)))
        try await lookAgain(fixture)
        #expect(try await store.story(app, channel)?.tokens.map(\.place.stored) == ["match-1"])
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 0)
        let left = try fixture.key(Keyspace.beingForgotten, "match-1")
        let rest = try await store.redis.send(RedisCommand("PTTL", left)).integer()
        #expect(rest > 0 && rest <= Registry.forgetNoteStay, "another request may need the note")
        // A later request is not bound by that registration.
        let muchLater = fixture.store(at: now + 5 * Forgetting.pause)
        let again = try await muchLater.forgetting.note(app, [channel])
        try await muchLater.forgetting.forget(app, [channel], notedAt: again)
        #expect(try await store.story(app, channel) == nil)
    }

    /// Forgotten, registered, forgotten again, registered again, all within a minute. The device's clock is slow.
    @Test func `the end of one request leaves the registrations after another one alone`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app, name) = (fixture.store, fixture.app, try ActivityName("match-1"))
        let slow: Int64 = -300_000
        for step: Int64 in [0, 10_000, 20_000] {
            let then = fixture.store(at: now + step)
            if step > 0 {
                let time = try await then.forgetting.note(app, [channel])
                try await then.forgetting.forget(app, [channel], notedAt: time)
            }
            let after = fixture.store(at: now + step + 1_000)
            _ = try await after.registry.track(app, .activity(name), [registration(channel, now + step + slow)])
        }
        // The second look of the first request is done before the second one has its own.
        for time in [71_000, 81_000] as [Int64] {
            _ = try await fixture.store(at: now + time).forgetting.runDue(app, limit: 100)
            #expect(try await store.story(app, channel)?.tokens.count == 1, "after \(time) ms")
        }
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 0)
    }

    @Test func `dead letters of a channel that follows again stay, and can be retried`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let (name, left) = (try ActivityName("match-1"), try ActivityName("match-2"))
        try await track(fixture, "match-1", channel, at: now)
        try await forget(fixture)
        try await track(fixture, "match-1", channel, at: now + 500, through: fixture.store(at: now + 1_000))
        let push = PushID(UUIDBytes(high: 1, low: 2))
        for name in [name, left] {
            try await store.deadLetters.enlist(app, name, [push])
            let letter = store.keys.deadChannels(store.keys.tag(app, name), push)
            try await store.redis.send(RedisCommand("HSET", letter, .bytes(channel.stored), "BadTopic"))
        }
        try await lookAgain(fixture)
        let letter = store.keys.deadChannels(store.keys.tag(app, name), push)
        #expect(try await store.redis.send(RedisCommand("HLEN", letter)).integer() == 1)
    }

    /// The clock of the second device is slow, so only the arrival of its registration tells that the removal is later.
    @Test(arguments: [Int64(500), -20_000]) func `a removal after the request still refuses what is older`(
        at action: Int64
    ) async throws {
        let fixture = try await PushFixture.start()
        let (store, app, name) = (fixture.store, fixture.app, try ActivityName("match-1"))
        try await track(fixture, "match-1", channel, at: now - 60_000)
        try await forget(fixture)
        let later = fixture.store(at: now + 3_000)
        let old = registration(channel, now + action)
        _ = try await later.registry.track(app, .activity(name), [old])
        try await later.registry.untrack(
            app, .activity(name), [Untrack(channel: channel, removedAt: now + action + 100)])
        try await lookAgain(fixture)
        #expect(try await later.registry.track(app, .activity(name), [old]) == [.stale])
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 0)
    }

    @Test func `a registration from before the request that comes late is removed with its note`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await track(fixture, "match-1", channel, at: now - 5_000)
        try await forget(fixture)
        try await track(fixture, "match-1", channel, at: now - 1_000)
        #expect(try await store.story(app, channel) != nil)
        try await lookAgain(fixture)
        #expect(try await traces(of: channel, fixture).isEmpty)
    }

    @Test func `a registration whose note was dropped between its two commands gets it back`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await track(fixture, "match-1", channel, at: now)
        try await forget(fixture)
        let later = fixture.store(at: now + 1_000)
        try await track(fixture, "match-1", channel, at: now + 500, through: later)
        // As if the request had dropped the note after it was written, and before the record.
        let place = TokenPlace.activity(try ActivityName("match-1"))
        #expect(try await !later.followings.drop(app, channel.stored, [place]))
        #expect(try await store.story(app, channel)?.tokens.count == 1, "what is set aside is still found")
        #expect(try await !store.followings.has(app, channel.stored))
        let muchLater = fixture.store(at: now + 2 * Forgetting.pause)
        _ = try await muchLater.forgetting.runDue(app, limit: 100)
        #expect(try await store.followings.has(app, channel.stored))
        #expect(try await store.story(app, channel)?.tokens.count == 1)
    }

    /// The second look of one request falls between the two commands of a registration, which a cluster takes to two
    /// nodes. Then the channel is forgotten anew.
    @Test func `another request forgets what was registered while the first one looked again`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let place = TokenPlace.activity(try ActivityName("match-1"))
        try await track(fixture, "match-1", channel, at: now)
        try await forget(fixture)
        let again = fixture.store(at: now + Forgetting.pause + 1)
        try await again.followings.note(app, channel.stored, place)
        _ = try await again.forgetting.runDue(app, limit: 100)
        try await register(place, through: again)
        let later = fixture.store(at: now + Forgetting.pause + 1_000)
        let time = try await later.forgetting.note(app, [channel])
        try await later.forgetting.forget(app, [channel], notedAt: time)
        #expect(try await store.tokens.lookup(app, place, [channel.stored]).0.entries.isEmpty)
        for turn in 2...4 as ClosedRange<Int64> {
            let then = fixture.store(at: now + turn * 2 * Forgetting.pause)
            _ = try await then.forgetting.runDue(app, limit: 100)
        }
        #expect(try await traces(of: channel, fixture).isEmpty)
    }

    /// The second command of a registration: its record, without its note.
    private func register(_ place: TokenPlace, through store: Store) async throws {
        let app = try AppKey("shop")
        let key = try await store.registry.buckets.hashKey()
        let notes = store.keys.followings(app, FollowingIndex.bucket(of: channel.stored, key))
        let before = try await store.redis.send(RedisCommand("HGETALL", notes)).array().map { try $0.bytes() }
        let time = store.registry.buckets.clock()
        #expect(try await store.registry.track(app, place, [registration(channel, time)]) == [.stored])
        try await store.redis.send(RedisCommand("DEL", notes))
        if !before.isEmpty { try await store.redis.send(RedisCommand("HSET", notes, before.map { .bytes($0) })) }
    }

    @Test func `a channel with tags that comes back after the request stays listed`() async throws {
        let fixture = try await PushFixture.start()
        let app = fixture.app
        let time = try await fixture.store.forgetting.note(app, [channel])
        let later = fixture.store(at: now + 1_000)
        try await later.channels.register(app, channel, tags: TagChange(), namedUser: "ann")
        try await later.forgetting.forget(app, [channel], notedAt: time)
        let listed = try await later.channels.list(app, after: nil, limit: 10)
        #expect(listed.channels.map(\.channel) == [channel])
    }

    @Test func `pushes that wait for the channel are due at once, and the step stays until they are done`() async throws
    {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await track(fixture, "match-1", channel, at: now)
        let waiting = try fixture.key(Keyspace.waitingChannels, "match-1")
        let queues = try fixture.key(Keyspace.retryQueues, "match-1")
        let member = RedisArgument.bytes(channel.stored)
        try await store.redis.send(RedisCommand("ZADD", waiting, .int(now + 900_000), member))
        try await store.redis.send(RedisCommand("HSET", queues, member, "q"))
        try await forget(fixture)
        #expect(try await store.redis.send(RedisCommand("ZSCORE", waiting, member)).string() == "\(now)")
        #expect(try await store.queue.nextDue([app]).task == now)
        let later = fixture.store(at: now + 2 * Forgetting.pause)
        #expect(try await later.forgetting.runDue(app, limit: 100) == 1)
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 1)
        try await store.redis.send(RedisCommand("DEL", queues))
        try await store.redis.send(RedisCommand("DEL", waiting))
        _ = try await fixture.store(at: now + 5 * Forgetting.pause).forgetting.runDue(app, limit: 100)
        #expect(try await store.redis.send(RedisCommand("ZCARD", store.keys.forgetSteps(app))).integer() == 0)
    }

    @Test func `a step reads as it was written, and other bytes are dropped from the list`() async throws {
        let steps = [
            ForgetStep(askedAt: now, channel: channel.stored),
            ForgetStep(askedAt: now, channel: channel.stored, place: .activity(try ActivityName("ä b"))),
            ForgetStep(askedAt: 0, channel: [1], place: .startTokens(of: "T")),
        ]
        for step in steps { #expect(ForgetStep(stored: step.stored) == step) }
        for bytes in [[], [0], [UInt8](repeating: 0, count: 9), Array(steps[0].stored.dropLast())] {
            #expect(ForgetStep(stored: bytes) == nil)
        }
        let fixture = try await PushFixture.start()
        let list = fixture.store.keys.forgetSteps(fixture.app)
        try await fixture.store.redis.send(RedisCommand("ZADD", list, "1", "junk"))
        #expect(try await fixture.store.forgetting.runDue(fixture.app, limit: 10) == 1)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", list)).integer() == 0)
    }

    /// Puts a channel wherever a channel can be.
    private func fill(_ fixture: PushFixture, _ channel: ChannelID) async throws {
        let (store, app) = (fixture.store, fixture.app)
        try await track(fixture, "match-1", channel, at: now)
        try await track(fixture, "match-2", channel, at: now)
        _ = try await store.registry.track(app, .startTokens(of: "T"), [registration(channel, now)])
        try await store.registry.untrack(
            app, .activity(try ActivityName("match-3")), [Untrack(channel: channel, removedAt: now)])
        try await track(fixture, "match-3", channel, at: now - 1)
        var tags = TagChange()
        tags.add = ["device": ["a"], "team": ["reds"]]
        try await store.channels.register(app, channel, tags: tags, namedUser: "ann", hasIOS18: true)
        let member = RedisArgument.bytes(channel.stored)
        for key in [Keyspace.quarantine, Keyspace.otherEnvironment, Keyspace.lateJoiners, Keyspace.startedChannels] {
            try await store.redis.send(RedisCommand("HSET", try fixture.key(key, "match-1"), member, "x"))
        }
        for key in [Keyspace.newFollowers, Keyspace.catchUp] {
            try await store.redis.send(RedisCommand("ZADD", try fixture.key(key, "match-1"), "1", member))
        }
        // A dead letter of a name that the channel has left.
        let (push, left) = (PushID(UUIDBytes(high: 1, low: 2)), try ActivityName("match-9"))
        try await store.deadLetters.enlist(app, left, [push])
        let letter = store.keys.deadChannels(store.keys.tag(app, left), push)
        try await store.redis.send(RedisCommand("HSET", letter, member, "Shutdown"))
    }

    /// The keys whose dump holds the channel's bytes, sorted.
    private func traces(of channel: ChannelID, _ fixture: PushFixture) async throws -> [String] {
        let redis = fixture.store.redis
        let keys = try await redis.keys().map(\.description)
        var found: [String] = []
        for key in keys {
            let holds = try await contents(RedisKey(key), redis).contains { part in
                part.firstRange(of: channel.description.utf8) != nil
            }
            if holds || key.contains(channel.description) { found.append(key) }
        }
        return found.sorted()
    }

    private func contents(_ key: RedisKey, _ redis: RedisClient) async throws -> [[UInt8]] {
        switch try await redis.send(RedisCommand("TYPE", key)).string() {
        case "hash": try await redis.send(RedisCommand("HGETALL", key)).array().map { Array(try $0.bytes()) }
        case "set": try await redis.send(RedisCommand("SMEMBERS", key)).array().map { Array(try $0.bytes()) }
        case "zset": try await redis.send(RedisCommand("ZRANGE", key, "0", "-1")).array().map { Array(try $0.bytes()) }
        // HyperLogLogs hold no ids.
        default: []
        }
    }

    private func registration(_ channel: ChannelID, _ time: Int64) -> Registration {
        Registration(channel: channel, token: PushToken(bytes: [7])!, registeredAt: time)
    }

    /// Notes the request, and forgets at once.
    private func forget(_ fixture: PushFixture) async throws {
        let time = try await fixture.store.forgetting.note(fixture.app, [channel])
        try await fixture.store.forgetting.forget(fixture.app, [channel], notedAt: time)
    }

    /// A worker does what is due, two minutes later and so on.
    private func lookAgain(_ fixture: PushFixture, turns: Int64 = 2) async throws {
        for turn in 1...turns {
            let later = fixture.store(at: now + turn * 2 * Forgetting.pause)
            _ = try await later.forgetting.runDue(fixture.app, limit: 100)
        }
    }

    private func track(
        _ fixture: PushFixture, _ name: String, _ channel: ChannelID, at time: Int64, through store: Store? = nil
    ) async throws {
        _ = try await (store ?? fixture.store).registry.track(
            fixture.app, .activity(try ActivityName(name)), [registration(channel, time)])
    }
}

extension PushFixture {
    /// The same server at another time (epoch ms).
    func store(at time: Int64) -> Store {
        Store(redis: RedisClient(url: server.url, scripts: Store.scripts, logger: .quiet), clock: { time })
    }
}
