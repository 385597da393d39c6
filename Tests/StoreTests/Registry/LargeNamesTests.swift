import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreGround
@testable import StoreRegistry

/// Followers of a name of many buckets are not in the index from channels to names: each large name is asked.
@Suite struct LargeNamesTests {
    private let name = try! ActivityName("cup-final")
    private let channel = ChannelID.random()
    private let now: Int64 = 1_795_000_002_000

    @Test(arguments: [1, 2]) func `its followers have no note, and are found`(count: Int) async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture)
        let channels = [channel, .random()].prefix(count)
        try await track(store, fixture, Array(channels))
        try await track(store, fixture, [channel], under: "order-1")
        #expect(try await notes(fixture).map(\.stored) == ["order-1"])
        // A process that does not know the name finds it too.
        let other = fixture.store(at: now)
        #expect(try await other.followings(app, channel).live.map(\.place.stored) == ["cup-final", "order-1"])
        #expect(try await other.names(app, followedBy: channel, on: .ios)[name] == [7])
        #expect(try await other.followings.places(app, ChannelID.random().stored).isEmpty)
        #expect(try await other.followings.places(try AppKey("other"), channel.stored).isEmpty)
        try await store.registry.untrack(app, .activity(name), [Untrack(channel: channel, removedAt: now)])
        let (live, former, _) = try await other.followings(app, channel)
        #expect(live.map(\.place.stored) == ["order-1"] && former.map(\.place.stored) == ["cup-final"])
    }

    /// Its channels are of one bucket, which passes 128, and of the bucket that is divided then.
    @Test func `a name that grows is listed, and asks for notes of nobody new`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture, buckets: BucketCount.large - 1)
        // A process lists a name itself, but only now and then.
        try await track(store, fixture, [.random()])
        #expect(try await listed(fixture) == [])
        let count = store.registry.buckets.memory.count(place(fixture).key)
        let key = try await store.registry.buckets.hashKey()
        var channels: [ChannelID] = []
        while channels.count <= Buckets.threshold {
            let channel = ChannelID.random()
            if count.bucket(of: key.hash(channel.stored)) == count.nextSource { channels.append(channel) }
        }
        try await track(store, fixture, channels)
        #expect(try await listed(fixture) == ["cup-final"])
        #expect(store.registry.buckets.memory.count(place(fixture).key).buckets == BucketCount.large)
        try await track(store, fixture, [channel])
        #expect(try await notes(fixture, of: channels[0]) == [.activity(name)], "from before")
        #expect(try await notes(fixture).isEmpty)
        for channel in [channel, channels[0], channels[128]] {
            #expect(try await store.followings.places(app, channel.stored) == [.activity(name)])
        }
    }

    /// By one registration, and by several in a call. `RestoreTests` has a backup.
    @Test(arguments: [1, 3]) func `a name that begins anew is small, also for a process that does not know`(
        count: Int
    ) async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture)
        try await track(store, fixture, [.random()])
        for key in try await store.redis.keys() where key.description.hasPrefix("ll:b:") {
            try await store.redis.send(RedisCommand("DEL", key))
        }
        try await store.redis.send(RedisCommand("DEL", store.keys.largeNames(app)))
        try await track(store, fixture, Array([channel, .random(), .random()].prefix(count)))
        #expect(try await notes(fixture) == [.activity(name)])
        #expect(try await store.followings(app, channel).live.count == 1)
    }

    @Test func `a process that dies before the name is large leaves it listed for an hour`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        // As if it had died: a name of several buckets gets no others at once.
        try await makeLarge(fixture, buckets: 2)
        try await makeLarge(fixture)
        #expect(try await listed(fixture) == ["cup-final"])
        try await track(store, fixture, [channel])
        #expect(try await notes(fixture) == [.activity(name)])
        #expect(try await store.followings.places(app, channel.stored) == [.activity(name)])
        try await makeLarge(fixture, "derby")
        try await store.followings.tidyLargeNames(app)
        #expect(try await listed(fixture) == ["cup-final", "derby"], "a registration may be on its way")
        let later = fixture.store(at: now + Buckets.largeFor)
        try await later.followings.tidyLargeNames(app)
        #expect(try await listed(fixture) == ["derby"])
        try await later.followings.tidyLargeNames(app)
        #expect(try await listed(fixture) == ["derby"])
    }

    @Test func `a lost list is mended by a registration ten minutes later`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture)
        try await store.redis.send(RedisCommand("DEL", store.keys.largeNames(app)))
        try await track(fixture.store(at: now + RegistryMemory.relistAfter), fixture, [channel])
        #expect(try await listed(fixture) == ["cup-final"])
    }

    @Test func `the list of channels has each of them once, with its places`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let both = (0..<20).map { _ in ChannelID.random() }
        let few = (0..<20).map { _ in ChannelID.random() }
        let many = (0..<200).map { _ in ChannelID.random() }
        try await track(store, fixture, both, under: "order-1")
        try await track(store, fixture, few, under: "order-2")
        // Noted before the name is large.
        try await track(store, fixture, Array(many.prefix(10)))
        try await makeLarge(fixture)
        try await track(store, fixture, many + both)
        try await makeLarge(fixture, "derby")
        try await track(store, fixture, Array(both.prefix(5)), under: "derby")
        var places: [ChannelID: Int] = [:]
        var position: ChannelPosition?
        repeat {
            let page = try await store.channels.list(app, after: position, limit: 30)
            #expect(page.channels.count == 30 || page.next == nil)
            for one in page.channels { #expect(places.updateValue(one.places, forKey: one.channel) == nil) }
            position = page.next.flatMap { ChannelPosition($0.description) }
        } while position != nil
        let expected = both.map { ($0, 2) } + few.map { ($0, 1) } + many.map { ($0, 1) }
        let more = Dictionary(uniqueKeysWithValues: expected).merging(both.prefix(5).map { ($0, 3) }) { $1 }
        #expect(places == more)
    }

    @Test func `a channel that only waits there is forgotten`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture)
        let hashes = [Keyspace.quarantine, Keyspace.otherEnvironment, Keyspace.lateJoiners, Keyspace.startedChannels]
        let sets = [Keyspace.newFollowers, Keyspace.catchUp]
        let keys = try (hashes + sets + [Keyspace.openRequests]).map { try fixture.key($0, "cup-final") }
        for (index, key) in keys.enumerated() {
            let member = RedisArgument.bytes(channel.stored)
            let isSet = hashes.indices.upperBound <= index && index < hashes.count + sets.count
            try await store.redis.send(
                isSet ? RedisCommand("ZADD", key, "1", member) : RedisCommand("HSET", key, member, "x"))
            let time = try await store.forgetting.note(app, [channel])
            try await store.forgetting.forget(app, [channel], notedAt: time)
            #expect(try await store.redis.send(RedisCommand("EXISTS", key)).integer() == 0, "\(key)")
        }
    }

    @Test func `a name that was stored under another key is left out`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        try await makeLarge(fixture)
        try await track(store, fixture, [channel], under: "order-1")
        try await store.redis.send(
            RedisCommand("HSET", store.keys.deployment, "hash_key", .bytes(Array(repeating: 1, count: 16))))
        let other = fixture.store(at: now)
        try await track(other, fixture, [channel], under: "order-1")
        #expect(try await other.followings.places(app, channel.stored).map(\.stored) == ["order-1"])
        #expect(try await other.channels.list(app, after: nil, limit: 10).channels.map(\.channel).contains(channel))
    }

    private func place(_ fixture: PushFixture, _ name: String = "cup-final") -> PlaceKeys {
        fixture.store.keys.place(fixture.app, .activity(try! ActivityName(name)))
    }

    private func makeLarge(
        _ fixture: PushFixture, _ name: String = "cup-final", buckets: Int = BucketCount.large
    ) async throws {
        try await fixture.store.registry.buckets.make(buckets, in: place(fixture, name))
    }

    private func listed(_ fixture: PushFixture) async throws -> [String] {
        let list = fixture.store.keys.largeNames(fixture.app)
        return try await fixture.store.redis.send(RedisCommand("ZRANGE", list, "0", "-1")).array()
            .map { try $0.string() }.sorted()
    }

    /// The channel's notes in the index.
    private func notes(_ fixture: PushFixture, of channel: ChannelID? = nil) async throws -> [TokenPlace] {
        let channel = (channel ?? self.channel).stored
        let key = try await fixture.store.registry.buckets.hashKey()
        let hash = fixture.store.keys.followings(fixture.app, FollowingIndex.bucket(of: channel, key))
        return try await fixture.store.redis.send(RedisCommand("HKEYS", hash)).array()
            .compactMap { FollowingIndex.place(Array(try $0.bytes()), of: channel) }
    }

    private func track(
        _ store: Store, _ fixture: PushFixture, _ channels: [ChannelID], under name: String = "cup-final"
    ) async throws {
        let registrations = channels.map {
            Registration(channel: $0, token: PushToken(bytes: [7])!, registeredAt: 1_795_000_000_000)
        }
        let results = try await store.registry.track(fixture.app, .activity(try ActivityName(name)), registrations)
        #expect(results == channels.map { _ in .stored })
    }
}
