import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

/// The index from channels to the places where they have tokens.
@Suite struct FollowingsTests {
    private let name = try! ActivityName("match-1")
    private let channel = ChannelID.random()

    @Test func `a channel's names and types are found, and nobody else's`() async throws {
        let fixture = try await PushFixture.start()
        try await track(fixture, "match-2", "order-1", "match-1")
        _ = try await fixture.store.registry.track(
            fixture.app, .startTokens(of: "T"), [registration(channel, 1_795_000_000_000)])
        try await track(fixture, "match-1", as: .random())
        try await track(fixture, "match-1", as: ChannelID("\(channel)x"))
        let found = try await fixture.store.followings(fixture.app, channel).live
        #expect(
            found.map(\.place.stored) == ["\u{1}T", "match-1", "match-2", "order-1"],
            "start tokens are stored under a control character")
        #expect(found.allSatisfy { $0.token == [7] && $0.registeredAt == 1_795_000_000_000 })
        #expect(try await fixture.store.followings(fixture.app, .random()).live.isEmpty)
        #expect(try await fixture.store.followings(try AppKey("other"), channel).live.isEmpty)
    }

    @Test func `a removal and a prune show at once`() async throws {
        let fixture = try await PushFixture.start()
        try await track(fixture, "left", "pruned", "stays")
        try await track(fixture, "old", at: 1_795_000_002_000 - 8 * 3_600_000)
        let (registry, app) = (fixture.store.registry, fixture.app)
        try await registry.untrack(
            app, .activity(try ActivityName("left")), [Untrack(channel: channel, removedAt: 1_795_000_001_000)])
        let dead = TokenRemoval(channel: channel.stored, token: [7], deadSince: nil, reason: "BadDeviceToken")
        #expect(try await registry.prune(app, .activity(try ActivityName("pruned")), [dead]) == [.pruned])
        let (live, former, _) = try await fixture.store.followings(app, channel)
        #expect(live.map(\.place.stored) == ["old", "stays"] && former.map(\.place.stored) == ["left", "pruned"])
        // APNs names no time with a 400, so the token was dead when it was pruned.
        #expect(former.map(\.presence) == [.left(at: 1_795_000_001_000), .pruned(at: 1_795_000_002_000)])
        // Registered again, it is there again.
        try await track(fixture, "left", at: 1_795_000_001_500)
        #expect(try await fixture.store.followings(app, channel).live.map(\.place.stored) == ["left", "old", "stays"])
    }

    @Test func `many names of one channel, and names in any bytes`() async throws {
        let fixture = try await PushFixture.start()
        let names = (0..<300).map { "order-\($0)" } + ["{a}", "a b", "ä", "a\u{308}"]
        for name in names { try await track(fixture, name) }
        let found = try await fixture.store.followings(fixture.app, channel).live.map(\.place.stored)
        let sorted = names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(found.map { Array($0.utf8) } == sorted)
    }

    @Test func `a call that dies after its first command leaves a note, and never a token without one`() async throws {
        let fixture = try await PushFixture.start()
        let place = fixture.store.keys.place(fixture.app, .activity(name))
        let hash = try await fixture.store.registry.buckets.hashKey().hash(channel.stored)
        let note = fixture.store.followings.notes(place, now: 1_795_000_000_000)
        try await fixture.store.redis.send(note(channel.stored, hash, 1_000))
        #expect(try await fixture.store.followings.places(fixture.app, channel.stored) == [.activity(name)])
        let (live, former, _) = try await fixture.store.followings(fixture.app, channel)
        #expect(live.isEmpty && former.isEmpty)
    }

    @Test func `expired notes are dropped, and a note that was renewed stays`() async throws {
        let fixture = try await PushFixture.start()
        try await track(fixture, "match-1")
        let (store, app) = (fixture.store, fixture.app)
        let key = try await store.registry.buckets.hashKey()
        let bucket = store.keys.followings(app, FollowingIndex.bucket(of: channel.stored, key))
        let old = FollowingIndex.field(channel.stored, Array("old".utf8))
        try await store.redis.send(
            RedisCommand("HSET", bucket, .bytes(old), .bytes(FollowingIndex.minutes(1_795_000_000_000 - 120_000))))
        let tidy = RedisCommand(
            Lua.followingTidy, keys: ["fo": bucket], ["now": .bytes(FollowingIndex.minutes(1_795_000_000_000))])
        #expect(try await store.redis.send(tidy).integer() == 1)
        #expect(try await store.redis.send(tidy).integer() == 0)
        #expect(try await store.followings.places(app, channel.stored) == [.activity(name)])
    }

    @Test func `a channel's story has its tags, its user and the marks of its tokens`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        #expect(try await store.story(app, channel) == nil)
        var change = TagChange()
        change.add = ["device": ["b", "a"], "team:x": ["100%"]]
        try await store.channels.register(app, channel, tags: change, namedUser: "ann:1", hasIOS18: true)
        try await track(fixture, "match-1", "match-2")
        try await store.redis.send(
            RedisCommand("HSET", try fixture.key(Keyspace.retryQueues, "match-2"), .bytes(channel.stored), "x"))
        let story = try #require(try await store.story(app, channel))
        let record = try #require(story.record)
        #expect(record.tags == ["device": ["a", "b"], "team:x": ["100%"]] && record.namedUser == "ann:1")
        #expect(record.hasIOS18 && record.created != nil && record.seen != nil)
        #expect(story.tokens.map(\.waits) == [false, true])
        #expect(story.tokens.allSatisfy { !$0.isQuarantined && !$0.isElsewhere })
    }

    private func registration(_ channel: ChannelID, _ time: Int64) -> Registration {
        Registration(channel: channel, token: PushToken(bytes: [7])!, registeredAt: time)
    }

    private func track(
        _ fixture: PushFixture, _ names: String..., as other: ChannelID? = nil, at time: Int64 = 1_795_000_000_000
    ) async throws {
        for name in names {
            let results = try await fixture.store.registry.track(
                fixture.app, .activity(try ActivityName(name)), [registration(other ?? channel, time)])
            #expect(results == [.stored])
        }
    }
}
