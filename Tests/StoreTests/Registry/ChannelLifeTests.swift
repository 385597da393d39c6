import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests that unused channels are forgotten, and that sets become right again after writers that ran at the same time.
@Suite struct ChannelLifeTests {
    private static let life = Duration.seconds(365 * 86_400)

    private func channels(_ fixture: RegistryFixture, life: Duration = life) -> Channels {
        let time = fixture.time
        return Channels(redis: fixture.redis, keys: fixture.keys, followings: fixture.registry.followings, life: life) {
            time.now
        }
    }

    private func set(_ fixture: RegistryFixture, _ tag: String) -> RedisKey {
        fixture.keys.members(fixture.app, .tag(tag, group: "device"))
    }

    private func isMember(_ fixture: RegistryFixture, _ tag: String, _ channel: ChannelID) async throws -> Bool {
        try await fixture.command("SISMEMBER", set(fixture, tag), .bytes(channel.stored)).integer() == 1
    }

    private func change(_ body: (inout TagChange) -> Void) -> TagChange {
        var change = TagChange()
        body(&change)
        return change
    }

    /// One writer adds a channel. Another removes it before the first has changed the set. The first
    /// dies after that change.
    @Test(arguments: [true, false])
    func `writers that cross leave no set that the record does not show`(joins: Bool) async throws {
        try await RegistryFixture.run { fixture in
            let (channels, channel) = (channels(fixture), ChannelID.random())
            let record = fixture.keys.channel(fixture.app, channel)
            let (join, leave) = (change { $0.add = ["device": ["a"]] }, change { $0.remove = ["device": ["a"]] })
            if !joins { try await channels.tag(fixture.app, [channel], join) }
            _ = try await fixture.redis.send(
                RedisCommand(
                    Lua.channelMark, keys: ["c": record],
                    ["now": .int(fixture.time.now), "life": 0, "crossing": 60_000],
                    rest: [joins ? "add" : "remove", "t:device:a"]))
            try await channels.tag(fixture.app, [channel], joins ? leave : join)
            _ = try await fixture.command(
                joins ? "SADD" : "SREM", set(fixture, "a"), .bytes(channel.stored))
            #expect(try await isMember(fixture, "a", channel) == joins, "the dead writer's change came last")
            // The next registration of the app repairs the set, soon or later.
            try await channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await isMember(fixture, "a", channel) != joins)
            fixture.time.advance(hours: 1)
            try await channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil)
            let state = try await fixture.command("HGET", record, "t:device:a")
            #expect(joins ? state.isNil : try state.string() == "1", "and is settled then")
        }
    }

    @Test func `a channel that is not seen expires, and its sets after it`() async throws {
        try await RegistryFixture.run { fixture in
            let (channels, channel) = (channels(fixture), ChannelID.random())
            let record = fixture.keys.channel(fixture.app, channel)
            try await channels.tag(fixture.app, [channel], change { $0.add = ["device": ["a"]] })
            let (life, ofSet) = (
                try await fixture.command("PTTL", record).integer(),
                try await fixture.command("PTTL", set(fixture, "a")).integer()
            )
            #expect(life > 0 && life <= Self.life.milliseconds)
            #expect(ofSet > Self.life.milliseconds * 5 / 4, "a channel that was last seen just before it renews")

            // The channel registers again. Its sets are not touched until a quarter of its life is over.
            _ = try await fixture.command("DEL", set(fixture, "a"))
            fixture.time.advance(hours: 90 * 24)
            try await channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await !isMember(fixture, "a", channel))
            fixture.time.advance(hours: 2 * 24)
            try await channels.register(fixture.app, channel, tags: TagChange(), namedUser: nil)
            #expect(try await isMember(fixture, "a", channel))
            #expect(try await fixture.command("PTTL", set(fixture, "a")).integer() > Self.life.milliseconds * 5 / 4)

            // Sets live for ever if the operator turns the life off.
            let forEver = self.channels(fixture, life: .zero)
            try await forEver.tag(fixture.app, [channel], change { $0.add = ["device": ["a", "b"]] })
            #expect(try await fixture.command("PTTL", record).integer() == -1)
            #expect(try await fixture.command("PTTL", set(fixture, "b")).integer() == -1)
        }
    }

    @Test func `members whose records are gone leave their sets as others join`() async throws {
        try await RegistryFixture.run { fixture in
            let channels = channels(fixture)
            let join = change { $0.add = ["device": ["a"]] }
            let gone = (0..<60).map { _ in ChannelID.random() }
            try await channels.tag(fixture.app, gone, join)
            for channel in gone {
                _ = try await fixture.command("DEL", fixture.keys.channel(fixture.app, channel))
            }
            _ = try await fixture.command("SADD", set(fixture, "a"), "what nobody wrote")
            let living = (0..<40).map { _ in ChannelID.random() }
            // Each step checks 16 of at most 101 members, so these steps check each member far more often than needed.
            for _ in 0..<5 {
                for channel in living {
                    try await channels.tag(fixture.app, [channel], change { $0.remove = ["device": ["a"]] })
                    try await channels.tag(fixture.app, [channel], join)
                }
            }
            let left = try await fixture.command("SMEMBERS", set(fixture, "a")).array()
            let members = Set(try left.compactMap { ChannelID(stored: try $0.bytes()) })
            #expect(members == Set(living) && left.count == living.count)
        }
    }
}
