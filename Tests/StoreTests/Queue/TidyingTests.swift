import LiveActivity
import Redis
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// Tests that no list grows for ever. An entry whose subject is gone is removed even if no caller reads the list.
@Suite struct TidyingTests {
    @Test func `names of which nothing exists leave the list`() async throws {
        try await RegistryFixture.run { fixture in
            let index = fixture.keys.names(fixture.app)
            for number in 0..<50 { _ = try await fixture.command("ZADD", index, "0", "gone-\(number)") }
            _ = try await fixture.command("ZADD", index, "0", .bytes([0xFF]))
            let registration = Registration(
                channel: .random(), token: .test(1), registeredAt: fixture.time.now)
            let living = try ["\u{301}a", "h", "z"].map { try ActivityName($0) }
            for name in living { _ = try await fixture.registry.track(fixture.app, .activity(name), [registration]) }

            var cursor: [UInt8]?
            var removed = 0
            // Tidying begins at a random place and goes around. 54 names need 8 steps.
            for _ in 0..<2 * 8 {
                let step = try await fixture.registry.names.tidy(fixture.app, after: cursor, limit: 7)
                cursor = step.next
                removed += step.removed
            }
            let left = try await fixture.command("ZRANGE", index, "0", "-1").array()
            #expect(Set(try left.map { try $0.string() }) == Set(living.map(\.rawValue)))
            #expect(removed == 51)
            let other = try AppKey("other")
            #expect(try await fixture.registry.names.tidy(other, after: nil, limit: 7) == ([], 0))
        }
    }

    /// After an `end` for some channels, new followers are noted so that it does not reach them. The notes
    /// must not stay for ever.
    @Test func `channels that began to follow after an end are noted no longer than they follow`() async throws {
        try await RegistryFixture.run { fixture in
            let meta = fixture.keys.name(fixture.tag)
            _ = try await fixture.command("HSET", meta, "ending", .int(fixture.time.now - 1_000))
            let noted = fixture.keys.newFollowers(fixture.tag)
            for number in 0..<100 { _ = try await fixture.command("ZADD", noted, "1000", "old-\(number)") }
            let channels = (0..<10).map { _ in ChannelID.random() }
            func follow(_ channel: ChannelID, _ number: Int) async throws {
                let registration = Registration(
                    channel: channel, token: .test(number), registeredAt: fixture.time.now)
                _ = try await fixture.registry.track(fixture.app, .activity(fixture.name), [registration])
            }
            for (number, channel) in channels.enumerated() { try await follow(channel, number) }
            #expect(try await fixture.command("ZCARD", noted).integer() == 10, "those of long ago leave as others come")

            try await fixture.registry.untrack(
                fixture.app, .activity(fixture.name), [Untrack(channel: channels[0], removedAt: fixture.time.now + 1)])
            let dead = TokenRemoval(channel: channels[1].stored, token: PushToken.test(1).bytes, deadSince: nil)
            _ = try await fixture.registry.prune(fixture.app, .activity(fixture.name), [dead])
            let left = try await fixture.command("ZRANGE", noted, "0", "-1").array()
            #expect(Set(try left.map { Array(try $0.bytes()) }) == Set(channels.dropFirst(2).map(\.stored)))
        }
    }

    @Test func `dead letters leave their list after their retention`() async throws {
        let fixture = try await PushFixture.start()
        let store = fixture.store
        let now: Int64 = 1_795_000_002_000
        let index = store.keys.deadIndex(fixture.app)
        for number in 0..<12 {
            let age = number < 10 ? store.keys.retention + 1_000 : 1_000
            let member = DeadLetters.member(.random(), try ActivityName("match-\(number)"))
            try await store.redis.send(RedisCommand("ZADD", index, .int(now - age), .string(member)))
        }
        #expect(try await store.deadLetters.tidy(fixture.app, limit: 7) == 7)
        #expect(try await store.deadLetters.tidy(fixture.app, limit: 7) == 3)
        #expect(try await store.redis.send(RedisCommand("ZCARD", index)).integer() == 2)
    }
}
