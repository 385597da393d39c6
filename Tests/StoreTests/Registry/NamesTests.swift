import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreRegistry

@Suite struct NamesTests {
    private func follow(_ fixture: RegistryFixture, _ names: [String]) async throws {
        for name in names {
            _ = try await fixture.registry.track(
                fixture.app, .activity(ActivityName(name)),
                [Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now)])
        }
    }

    @Test func `names are paged in byte order`() async throws {
        try await RegistryFixture.run { fixture in
            let all = ["a", "order-1", "order-10", "order-2", "order-é", "zebra", "{x}", "100%", "Ω"]
            try await follow(fixture, all.shuffled())
            let sorted = all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }

            var paged: [String] = []
            while let next = try await fixture.registry.names.page(fixture.app, prefix: "", after: paged.last, limit: 2)
                .nonEmpty
            {
                #expect(next.count <= 2)
                paged += next.map(\.rawValue)
            }
            #expect(paged == sorted)

            func names(_ prefix: String, after: String? = nil) async throws -> [String] {
                try await fixture.registry.names.page(fixture.app, prefix: prefix, after: after, limit: 100).map(
                    \.rawValue)
            }
            #expect(try await names("order-") == ["order-1", "order-10", "order-2", "order-é"])
            #expect(try await names("order-", after: "order-10") == ["order-2", "order-é"])
            #expect(try await names("order-", after: "a") == ["order-1", "order-10", "order-2", "order-é"])
            #expect(try await names("order-", after: "zebra") == [])
            #expect(try await names("nothing") == [])
            #expect(try await fixture.registry.names.page(AppKey("other"), prefix: "", after: nil, limit: 9).isEmpty)
        }
    }

    @Test func `names without followers leave the list`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app) = (fixture.registry, fixture.app)
            try await follow(fixture, ["expired", "kept", "removed"])
            let removed = try ActivityName("removed")
            let (page, _) = try await registry.tokens.page(app, .activity(removed), from: .start, to: .end, limit: 1)
            let channel = try #require(ChannelID(stored: page.channel(0)))
            try await registry.untrack(
                app, .activity(removed), [Untrack(channel: channel, removedAt: fixture.time.now)])
            let expired = try ActivityName("expired")
            _ = try await fixture.command("DEL", fixture.keys.root(fixture.keys.tag(app, expired)))

            let listed = try await registry.names.page(app, prefix: "", after: nil, limit: 1)
            #expect(listed.map(\.rawValue) == ["kept"], "a page is filled with what is alive")
            _ = try await registry.names.page(app, prefix: "", after: nil, limit: 10)
            let index = try await fixture.command("ZRANGE", fixture.keys.names(app), 0, -1)
            #expect(try index.array().map { (reply) throws(RedisError) in try reply.string() } == ["kept", "removed"])
            #expect(try await fixture.buckets(expired) == 0)
            #expect(try await registry.names.info(app, removed) == nil)

            // The names return when channels follow them again, although this process listed them just before.
            try await follow(fixture, ["expired", "removed"])
            #expect(try await registry.names.page(app, prefix: "", after: nil, limit: 10).count == 3)
        }
    }

    /// To forget the last channel leaves no tombstone, so another process takes the name out of the index at once.
    @Test(arguments: [1, 2]) func `a name that another process took out of the list returns with its next channel`(
        count: Int
    ) async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let other = fixture.otherRegistry()
            let registrations = (0..<count).map { _ in
                Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now - 1)
            }
            _ = try await registry.track(app, .activity(name), registrations)
            for registration in registrations {
                let left = try await other.forget(
                    app, .activity(name), registration.channel.stored, before: fixture.time.now)
                #expect(left == .nothing)
            }
            #expect(try await other.names.tidy(app, after: [], limit: 10).removed == 1)
            _ = try await registry.track(app, .activity(name), registrations)
            #expect(try await other.names.page(app, prefix: "", after: nil, limit: 10) == [name])
            // Redis lost everything.
            try await fixture.redis.everywhere("FLUSHALL")
            _ = try await registry.track(app, .activity(name), registrations)
            #expect(try await other.names.page(app, prefix: "", after: nil, limit: 10) == [name])
        }
    }

    @Test func `info tells tokens buckets and pushes`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            #expect(try await registry.names.info(app, name) == nil)
            let registrations = (0..<1_000).map {
                Registration(channel: .random(), token: .test($0), registeredAt: fixture.time.now)
            }
            _ = try await registry.track(app, .activity(name), registrations)
            let push = PushID.random()
            let meta = fixture.keys.name(fixture.tag)
            _ = try await fixture.command(
                "HSET", meta, "last", .string(push.description), "ended", .int(fixture.time.now))
            let info = try #require(try await registry.names.info(app, name))
            #expect(info.tokens == 1_000 && info.lastPushID == push && info.ended)
            #expect((8...16).contains(info.buckets))

            // A card that began before the end leaves the name closed, but a new card opens it.
            let rotated = Registration(
                channel: registrations[0].channel, token: .test(1_000), registeredAt: fixture.time.now)
            _ = try await registry.track(app, .activity(name), [rotated])
            #expect(try await registry.names.info(app, name)?.ended == true)
            fixture.time.advance(hours: 0.1)
            let fresh = Registration(channel: .random(), token: .test(1), registeredAt: fixture.time.now)
            _ = try await registry.track(app, .activity(name), [fresh])
            #expect(try await registry.names.info(app, name)?.ended == false)

            try await registry.untrack(
                app, .activity(name), registrations.map { Untrack(channel: $0.channel, removedAt: fixture.time.now) })
            #expect(try await registry.names.info(app, name)?.tokens == 1)
        }
    }

    /// A name with pushes but without followers.
    @Test func `a name with only pushes is known`() async throws {
        try await RegistryFixture.run { fixture in
            let push = PushID.random()
            _ = try await fixture.command(
                "HSET", fixture.keys.name(fixture.tag), "last", .string(push.description))
            let info = try await fixture.registry.names.info(fixture.app, fixture.name)
            #expect(info == ActivityInfo(name: fixture.name, tokens: 0, buckets: 0, lastPushID: push, ended: false))
        }
    }

    @Test func `no name can look like another`() throws {
        let keys = Keyspace(prefix: "ll")
        let app = try AppKey("app")
        let names = ["a", "a}", "{a}", "%7Ba%7D", "a:1", "a%", "a%25", "ü", "}{", "b}:1"]
        var seen: Set<RedisKey> = []
        for name in try names.map({ try ActivityName($0) }) {
            let tag = keys.tag(app, name)
            #expect(tag.first == "{" && tag.last == "}")
            #expect(!tag.dropFirst().dropLast().contains { $0 == "{" || $0 == "}" })
            for key in [keys.root(tag), keys.bucket(tag, 1), keys.bucket(tag, 12), keys.name(tag)] {
                #expect(seen.insert(key).inserted, "\(key)")
                // A cluster hashes the text between the first brace and the next closing one.
                let hashed = key.description.drop { $0 != "{" }.prefix { $0 != "}" } + "}"
                #expect(hashed == tag)
            }
        }
        #expect(keys.bucket(keys.tag(app, try ActivityName("m")), 7).description == "ll:b:{app:m}:7")

        let sets: [AudienceSet] = [
            .tag("b:c", group: "a"), .tag("c", group: "a:b"), .tag("c", group: "a%3Ab"), .tag("}", group: "{"),
            .tag("", group: "a:"), .tag("a", group: ""), .namedUser("a:b"), .namedUser("a%3Ab"), .namedUser("a"),
            .iOS18,
        ]
        for set in sets {
            let key = keys.members(app, set)
            #expect(seen.insert(key).inserted, "\(key)")
            #expect(keys.members(app, field: Keyspace.field(set)) == key)
        }
        #expect(keys.members(app, .iOS18).description == "ll:t:{app:\u{1}ios:18}")
        #expect(keys.members(app, field: "created") == nil)
    }
}

extension Collection {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
