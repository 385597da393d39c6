import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Things of which an app may have only so many. The clock stands still, so a count is measured anew only where it is
/// moved.
@Suite struct QuotaTests {
    private func registration(_ channel: ChannelID, _ fixture: RegistryFixture) -> Registration {
        Registration(channel: channel, token: .test(1), registeredAt: fixture.time.now)
    }

    private func follow(
        _ registry: Registry, _ name: String, _ channel: ChannelID, _ fixture: RegistryFixture
    ) async throws {
        let results = try await registry.track(
            fixture.app, .activity(ActivityName(name)), [registration(channel, fixture)])
        #expect(results == [.stored])
    }

    /// Time for another measurement.
    private func pass(_ fixture: RegistryFixture) { fixture.time.advance(hours: 0.01) }

    @Test func `an app has so many names, and those that it has go on`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.names: 2]
            let full = StoreError.quotaReached(.names, limit: 2)
            let (first, second) = (ChannelID.random(), ChannelID.random())
            for name in ["a", "b"] {
                try await follow(registry, name, first, fixture)
                pass(fixture)
            }
            try await follow(registry, "b", second, fixture)
            await #expect(throws: full) { try await follow(registry, "c", first, fixture) }
            #expect(try await fixture.buckets(ActivityName("c")) == 0)
            // Nor is a removal remembered for it.
            await #expect(throws: full) {
                try await registry.untrack(
                    fixture.app, .activity(ActivityName("c")), [Untrack(channel: first, removedAt: fixture.time.now)])
            }
            // A process that remembers nothing of the name asks the list.
            var other = fixture.otherRegistry()
            other.quotas.limits = [.names: 2]
            try await follow(other, "a", second, fixture)
            await #expect(throws: full) { try await follow(other, "c", first, fixture) }
            // Other apps have names of their own.
            _ = try await registry.track(
                try AppKey("other"), .activity(ActivityName("c")), [registration(first, fixture)])
            // Start tokens have no name.
            _ = try await registry.track(
                fixture.app, .startTokens(of: "T"), [registration(first, fixture)])
            // A name that is gone makes room.
            _ = try await fixture.command("ZREM", fixture.keys.names(fixture.app), "b")
            pass(fixture)
            try await follow(registry, "c", first, fixture)
        }
    }

    @Test func `an app has so many followers, and those that it has go on`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.followers: 3]
            let full = StoreError.quotaReached(.followers, limit: 3)
            let channels = (0..<3).map { _ in ChannelID.random() }
            for channel in channels {
                // Again is no more.
                for _ in 0..<2 { try await follow(registry, "a", channel, fixture) }
                pass(fixture)
            }
            try await follow(registry, "a", channels[0], fixture)
            await #expect(throws: full) { try await follow(registry, "a", .random(), fixture) }
            await #expect(throws: full) { try await follow(registry, "b", channels[0], fixture) }
            // In a call of several nothing is stored.
            await #expect(throws: full) {
                _ = try await registry.track(
                    fixture.app, .activity(ActivityName("a")),
                    [channels[0], .random()].map { registration($0, fixture) })
            }
            #expect(try await registry.names.info(fixture.app, ActivityName("a"))?.tokens == 3)
            try await registry.untrack(
                fixture.app, .activity(ActivityName("a")), [Untrack(channel: channels[0], removedAt: fixture.time.now)])
            // The removed one is counted until its time is over.
            await #expect(throws: full) { try await follow(registry, "b", channels[0], fixture) }
            fixture.time.advance(hours: 20)
            try await follow(registry, "b", channels[0], fixture)
        }
    }

    @Test func `a call that had room is stored as a whole, whichever script decides`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.followers: 3]
            let name = try ActivityName("a")
            // A newcomer that asks for this state is not for registry-join.
            let state = "5 update 00000000-0000-7000-8000-000000000001 9999999999999"
            _ = try await fixture.command(
                "HSET", fixture.keys.name(fixture.keys.tag(fixture.app, name)), "newest", .string(state))
            var crowd = (0..<5).map { _ in registration(.random(), fixture) }
            crowd[4].wantsState = true
            let results = try await registry.track(fixture.app, .activity(name), crowd)
            #expect(results.allSatisfy { $0 == .stored })
            await #expect(throws: StoreError.quotaReached(.followers, limit: 3)) {
                try await follow(registry, "a", .random(), fixture)
            }
        }
    }

    @Test func `start tokens are counted by themselves, and for a year`() async throws {
        try await RegistryFixture.run { fixture in
            var registry = fixture.registry
            registry.quotas.limits = [.startTokens: 1]
            let channel = ChannelID.random()
            for _ in 0..<2 {
                _ = try await registry.track(fixture.app, .startTokens(of: "T"), [registration(channel, fixture)])
                fixture.time.advance(hours: 24 * 100)
            }
            await #expect(throws: StoreError.quotaReached(.startTokens, limit: 1)) {
                _ = try await registry.track(fixture.app, .startTokens(of: "U"), [registration(channel, fixture)])
            }
            try await follow(registry, "a", channel, fixture)
        }
    }

    @Test(arguments: [Duration.zero, .seconds(365 * 86_400)])
    func `an app has so many channels, and those that it has go on`(life: Duration) async throws {
        try await RegistryFixture.run { fixture in
            let time = fixture.time
            var channels = Channels(
                redis: fixture.redis, keys: fixture.keys, followings: fixture.registry.followings, life: life
            ) {
                time.now
            }
            channels.quotas.limits = [.channels: 2]
            let known = [ChannelID.random(), .random()]
            for channel in known {
                for _ in 0..<2 { try await channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil) }
                pass(fixture)
            }
            var change = TagChange()
            change.add = ["g": ["t"]]
            try await channels.tag(fixture.app, known, change)
            await #expect(throws: StoreError.quotaReached(.channels, limit: 2)) {
                try await channels.tag(fixture.app, known + [.random()], change)
            }
            await #expect(throws: StoreError.quotaReached(.channels, limit: 2)) {
                try await channels.associate(fixture.app, .random(), namedUser: "ann")
            }
            guard life > .zero else { return }
            // Channels that were not seen are forgotten, and not counted.
            fixture.time.advance(hours: 24 * 600)
            try await channels.register(fixture.app, .random(), tags: TagChange(), namedUser: nil)
        }
    }

    private func adding(_ tags: ExactText...) -> TagChange {
        var change = TagChange()
        change.add = ["g": Set(tags)]
        return change
    }

    @Test(arguments: [Duration.zero, .seconds(365 * 86_400)])
    func `an app has so many tags, and those that it has go on`(life: Duration) async throws {
        try await RegistryFixture.run { fixture in
            let time = fixture.time
            var channels = Channels(
                redis: fixture.redis, keys: fixture.keys, followings: fixture.registry.followings, life: life
            ) {
                time.now
            }
            channels.quotas.limits = [.tags: 2]
            let full = StoreError.quotaReached(.tags, limit: 2)
            let (first, second) = (ChannelID.random(), ChannelID.random())
            for tag: ExactText in ["a", "b"] {
                // Again, and for another channel, is no more.
                for _ in 0..<2 { try await channels.tag(fixture.app, [first, second], adding(tag)) }
                pass(fixture)
            }
            // Another channel may have them.
            try await channels.tag(fixture.app, [.random()], adding("a", "b"))
            await #expect(throws: full) { try await channels.tag(fixture.app, [first], adding("a", "c")) }
            await #expect(throws: full) {
                try await channels.register(fixture.app, .random(), tags: adding("c"), namedUser: nil)
            }
            var whole = TagChange()
            whole.set = ["g": ["c"]]
            await #expect(throws: full) { try await channels.tag(fixture.app, [first], whole) }
            await #expect(throws: full) {
                _ = try await channels.apply(fixture.app, [ChannelChange(channel: first, tags: adding("c"))])
            }
            let record = try await channels.record(fixture.app, first)
            #expect(record?.tags == ["g": ["a", "b"]], "nothing was added")
            // Removals, users and the mark of iOS 18 need no room, and other apps have tags of their own.
            var less = TagChange()
            less.remove = ["g": ["a", "none"]]
            try await channels.tag(fixture.app, [first], less)
            try await channels.register(
                fixture.app, .random(), tags: TagChange(), namedUser: "ann", hasIOS18: true)
            try await channels.tag(try AppKey("other"), [first], adding("c"))
            guard life > .zero else { return }
            // Tags of channels that were not seen are forgotten, and not counted.
            fixture.time.advance(hours: 24 * 600)
            try await channels.tag(fixture.app, [.random()], adding("c"))
        }
    }

    /// The calls of each gateway all run at once, and no time passes between two of them.
    @Test func `a crowd at two gateways leaves the last tenth of the names to servers`() async throws {
        try await RegistryFixture.run { fixture in
            let gateways = [fixture.registry, fixture.otherRegistry()].map { registry in
                var registry = registry
                registry.quotas.limits = [.names: 200]
                return registry
            }
            let stored = try await crowd(gateways.map { $0.forApps() }, of: 150) { registry, number in
                _ = try await registry.track(
                    fixture.app, .activity(ActivityName("a\(number)")), [registration(.random(), fixture)])
            }
            // Each gateway has 1 % unseen, and one call.
            #expect((180...180 + 2 * 3).contains(stored), "\(stored)")
            for (number, registry) in gateways.enumerated() {
                try await follow(registry, "server\(number)", .random(), fixture)
            }
        }
    }

    @Test func `a crowd at two gateways leaves the last tenth of the tags to servers`() async throws {
        try await RegistryFixture.run { fixture in
            let time = fixture.time
            let (calls, tagsOfCall, limit) = (120, 50, 10_000)
            let gateways = (0..<2).map { _ in
                var channels = Channels(
                    redis: fixture.redis, keys: fixture.keys, followings: fixture.registry.followings
                ) { time.now }
                channels.quotas.limits = [.tags: limit]
                return channels
            }
            let forApps = gateways.map { channels in
                var channels = channels
                channels.quotas.areForApps = true
                return channels
            }
            @Sendable func tags(_ number: Int) -> TagChange {
                var change = TagChange()
                change.add = ["g": Set((0..<tagsOfCall).map { ExactText("\(number) \($0)") })]
                return change
            }
            let stored = try await crowd(forApps, of: calls) { channels, number in
                try await channels.tag(fixture.app, [.random()], tags(number))
            }
            // Each gateway has 1 % unseen, and one call. A count is off by 1 % or 2.
            let most = limit * 9 / 10 + 2 * (limit / 100 + tagsOfCall) + limit / 50
            #expect((limit * 85 / 100...most).contains(stored * tagsOfCall), "\(stored)")
            for (number, channels) in gateways.enumerated() {
                try await channels.tag(fixture.app, [.random()], tags(1_000 + number))
            }
            let measured = try await fixture.redis.calls(of: "pfcount")
            // A call is half of a hundredth. It is measured when it comes, and once more if others wait.
            #expect(measured <= 2 * 2 * calls)
        }
    }

    /// - Returns: how many of the calls had room
    private func crowd<Gateway: Sendable>(
        _ gateways: [Gateway], of calls: Int, _ call: @escaping @Sendable (Gateway, Int) async throws -> Void
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            for (position, gateway) in gateways.enumerated() {
                for number in 0..<calls {
                    tasks.addTask {
                        do {
                            try await call(gateway, position * calls + number)
                            return true
                        } catch StoreError.quotaReached {
                            return false
                        }
                    }
                }
            }
            return try await tasks.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }

    @Test func `without a limit nothing is counted`() async throws {
        try await RegistryFixture.run { fixture in
            try await follow(fixture.registry, "a", .random(), fixture)
            try await fixture.channels.register(fixture.app, .random(), tags: adding("t"), namedUser: nil)
            #expect(try await fixture.redis.calls(of: "pfadd") == 0)
        }
    }

    @Test func `counts and near names work on a cluster`() async throws {
        let cluster = try await ClusterServers.start()
        let redis = RedisClient(url: cluster.url, scripts: Store.scripts, logger: .quiet)
        let store = Store(
            redis: redis, quotas: [.names: 9, .channels: 1, .followers: 9, .startTokens: 9, .tags: 1])
        let (app, channel) = (try AppKey("shop"), ChannelID.random())
        for name in ["order-1", "order-2"] {
            _ = try await store.registry.track(
                app, .activity(ActivityName(name)),
                [Registration(channel: channel, token: .test(1), registeredAt: store.time.now())])
        }
        var change = TagChange()
        change.add = ["g": ["t"]]
        try await store.channels.tag(app, [channel], change)
        await #expect(throws: StoreError.quotaReached(.channels, limit: 1)) {
            try await store.channels.tag(app, [.random()], change)
        }
        await #expect(throws: StoreError.quotaReached(.tags, limit: 1)) {
            try await store.channels.tag(app, [channel], adding("t", "u"))
        }
        let near = try await store.names.candidates(app, near: ActivityName("order-3"))
        #expect(Set(near.map(\.rawValue)) == ["order-1", "order-2"])
        _ = try await store.registry.names.tidy(app, after: nil, limit: 10)
        await redis.close()
    }
}
