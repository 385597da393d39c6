import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests activities that iOS 26 starts later. Their tokens come long before their start.
@Suite struct ScheduledStartTests {
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour

    private func registration(
        _ channel: ChannelID = .random(), token: UInt8 = 1, at: Int64 = TestTime.start, startsAt: Int64?,
        activity: String? = nil
    ) throws -> Registration {
        Registration(
            channel: channel, token: try #require(PushToken(bytes: [token, 2, 3, 4])), registeredAt: at,
            startedAt: startsAt, activityID: activity)
    }

    private func life(_ fixture: RegistryFixture, _ key: RedisKey) async throws -> Int64 {
        Int64(try await fixture.command("PTTL", key).integer())
    }

    @Test(arguments: [3 * hour, 20 * day, 30 * day])
    func `its token is kept until its life after the start is over`(ahead: Int64) async throws {
        try await RegistryFixture.run { fixture in
            let start = TestTime.start + ahead
            let one = try registration(startsAt: start)
            #expect(try await fixture.registry.track(fixture.app, .activity(fixture.name), [one]) == [.stored])
            fixture.time.set(start + 8 * Self.hour)
            let (page, _) = try await fixture.registry.tokens.page(
                fixture.app, .activity(fixture.name), from: .start, to: .end, limit: 10)
            #expect(page.count == 1 && Array(page.token(0)) == one.token.bytes)
            #expect(page.entries.first?.startedAt == start && page.entries.first?.registeredAt == TestTime.start)
            let (found, _) = try await fixture.registry.tokens.lookup(
                fixture.app, .activity(fixture.name), [one.channel.stored])
            #expect(found.entries.first?.startedAt == start)
            fixture.time.set(start + 8 * Self.hour + 17 * 60_000)
            #expect(try await fixture.scan().tokens.isEmpty)
        }
    }

    @Test func `a follower whose platform ends no card is kept for three days after its last report`() async throws {
        try await RegistryFixture.run { fixture in
            let channel = ChannelID.random()
            func follow() async throws {
                let one = Registration(
                    channel: channel, token: .ofChannel(on: .android), registeredAt: fixture.time.now)
                #expect(try await fixture.registry.track(fixture.app, .activity(fixture.name), [one]) == [.stored])
            }
            func followers() async throws -> Int { try await fixture.scan().tokens.count }
            try await follow()
            fixture.time.set(TestTime.start + 71 * Self.hour)
            #expect(try await followers() == 1)
            try await follow()
            fixture.time.set(TestTime.start + 142 * Self.hour)
            #expect(try await followers() == 1)
            #expect(try await life(fixture, fixture.keys.root(fixture.keys.tag(fixture.app, fixture.name))) > 0)
            fixture.time.set(TestTime.start + 144 * Self.hour)
            #expect(try await followers() == 0)
        }
    }

    /// A device's clock that is slightly ahead must not make a scheduled activity. Only a real one has a longer record.
    @Test func `only a scheduled activity takes more room`() throws {
        func bytes(_ ahead: Int64?) throws -> Int? {
            RegistryRecord.encode(
                try registration(startsAt: ahead.map { TestTime.start + $0 }), now: TestTime.start)?.value.count
        }
        #expect(try bytes(nil) == 14 && bytes(-Self.hour) == 14 && bytes(60_000) == 14)
        #expect(try bytes(Self.hour) == 16)
        let far = RegistryRecord.encode(try registration(startsAt: .max), now: TestTime.start)
        #expect(far?.startedAt == TestTime.start + 30 * Self.day, "an earlier version's gateway checks nothing")
    }

    @Test func `its bucket outlives it whatever registers besides`() async throws {
        try await RegistryFixture.run { fixture in
            let first = try (0..<600).map { _ in try registration(startsAt: nil) }
            _ = try await fixture.registry.track(fixture.app, .activity(fixture.name), first)
            let scheduled = try registration(startsAt: TestTime.start + 20 * Self.day)
            _ = try await fixture.registry.track(fixture.app, .activity(fixture.name), [scheduled])
            // Other channels register in every bucket, and the name grows.
            let more = try (0..<2_000).map { _ in try registration(startsAt: nil) }
            _ = try await fixture.registry.track(fixture.app, .activity(fixture.name), more)
            let root = try await life(fixture, fixture.keys.root(fixture.tag))
            #expect(root > 20 * Self.day + 8 * Self.hour, "the root holds the count of buckets")
            fixture.time.set(TestTime.start + 20 * Self.day)
            #expect(try await fixture.scan().tokens.keys.map(\.self) == [scheduled.channel.stored])
            // An untrack or a prune does not shorten the life either.
            try await fixture.registry.untrack(
                fixture.app, .activity(fixture.name), [Untrack(channel: more[0].channel, removedAt: TestTime.start)])
            #expect(try await life(fixture, fixture.keys.root(fixture.tag)) > 20 * Self.day)
        }
    }

    @Test func `it is rotated noted removed and pruned like others`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let start = TestTime.start + 2 * Self.day
            let channel = ChannelID.random()
            _ = try await registry.track(
                app, .activity(name), [try registration(channel, startsAt: start, activity: "later")])
            // The removal of another activity is noted before the token.
            fixture.time.set(TestTime.start + 1_000)
            try await registry.untrack(
                app, .activity(name),
                [Untrack(channel: channel, removedAt: TestTime.start + 1_000, activityID: "other")])
            #expect(
                try await registry.tokens.lookup(app, .activity(name), [channel.stored]).page.entries.first?.startedAt
                    == start
            )
            // The token rotates.
            let rotated = try registration(
                channel, token: 9, at: TestTime.start + 1_000, startsAt: start, activity: "later")
            #expect(try await registry.track(app, .activity(name), [rotated]) == [.stored])
            let found = try #require(
                try await registry.tokens.lookup(app, .activity(name), [channel.stored]).page.entries.first)
            #expect(abs(found.startedAt - start) < 120_000, "in units of two minutes")
            func prune(_ token: UInt8) -> TokenRemoval {
                TokenRemoval(
                    channel: channel.stored, token: [token, 2, 3, 4], deadSince: nil, reason: "BadDeviceToken")
            }
            #expect(try await registry.prune(app, .activity(name), [prune(1), prune(9)]) == [.newer, .pruned])
            #expect(try await fixture.scan().tokens.isEmpty)
            // The same token is accepted again only with a later registration.
            #expect(try await registry.track(app, .activity(name), [rotated]) == [.stale])
        }
    }

    @Test func `an automatic end counts from the start`() async throws {
        try await RegistryFixture.run { fixture in
            let start = TestTime.start + 2 * Self.day
            _ = try await fixture.registry.track(
                fixture.app, .activity(fixture.name), [try registration(startsAt: start)], endAfter: .seconds(4 * 3_600)
            )
            let due = try await fixture.command(
                "ZRANGE", fixture.keys.ends(fixture.app), "0", "-1", "WITHSCORES")
            #expect(try Int64(due[1].string()) == start + 4 * Self.hour)
        }
    }
}
