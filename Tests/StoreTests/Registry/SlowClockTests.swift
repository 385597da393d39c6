import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests devices with slow clocks. The time of arrival tells whether a card began after an `end`, if nothing else does.
@Suite struct SlowClockTests {
    private static let now: Int64 = 1_795_000_002_000
    private static let ended: Int64 = 1_795_000_000_000
    private static let name = "order-1"

    @Test(arguments: [300_000, 28_800_000, 32_400_000] as [Int64])
    func `a new follower with a slow clock opens a name that has ended`(behind: Int64) async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.push(.end, name: Self.name)
        #expect(try await fixture.follow(.random(), "1", at: Self.now - behind) == .stored)
        #expect(try await fixture.publish(Self.name) != .refused(.nameClosed))
    }

    @Test func `another card of a channel opens a name that has ended, however slow its clock`() async throws {
        let fixture = try await PushFixture.start()
        let (channel, removed) = (ChannelID.random(), ChannelID.random())
        for one in [channel, removed] {
            _ = try await fixture.follow(one, "1", at: Self.ended - 3_600_000, card: "first")
        }
        for one in [channel, removed] {
            _ = try await fixture.push(.end, name: Self.name)
            if one == removed {
                try await fixture.store.registry.untrack(
                    fixture.app, .activity(try ActivityName(Self.name)),
                    [Untrack(channel: one, removedAt: Self.ended - 200_000, activityID: "first")])
            }
            #expect(try await fixture.follow(one, "2", at: Self.ended - 100_000, card: "second") == .stored)
            #expect(try await fixture.publish(Self.name) != .refused(.nameClosed))
        }
    }

    @Test func `another card is not one of before the end that was delivered, however slow its clock`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        _ = try await fixture.follow(channel, "1", at: Self.ended - 3_600_000, card: "first")
        _ = try await fixture.push(.end, name: Self.name)
        let token = try PushToken(hex: "01").bytes
        let prune = TokenRemoval(channel: channel.stored, token: token, endedAt: Self.ended + 1_000)
        _ = try await fixture.store.registry.prune(fixture.app, .activity(try ActivityName(Self.name)), [prune])
        // A late repetition of the first card's registration moves the tombstone's floor.
        #expect(try await fixture.follow(channel, "1", at: Self.ended - 3_500_000, card: "first") == .stale)
        #expect(try await fixture.follow(channel, "2", at: Self.ended - 180_000, card: "second") == .stored)
        #expect(try await fixture.publish(Self.name) != .refused(.nameClosed))
    }

    @Test func `a card that was there before the end opens nothing`() async throws {
        let fixture = try await PushFixture.start()
        let (rotates, taken) = (ChannelID.random(), ChannelID.random())
        for one in [rotates, taken] {
            _ = try await fixture.follow(one, "1", at: Self.ended - 3_600_000, card: "first")
        }
        _ = try await fixture.push(.end, name: Self.name)
        // The token of this card rotates after the end was accepted.
        #expect(try await fixture.follow(rotates, "2", at: Self.now, card: "first") == .stored)
        #expect(try await fixture.publish(Self.name) == .refused(.nameClosed))
        // The end of this card was delivered, and an earlier rotation arrives late.
        let token = try PushToken(hex: "01").bytes
        _ = try await fixture.store.registry.prune(
            fixture.app, .activity(try ActivityName(Self.name)),
            [TokenRemoval(channel: taken.stored, token: token, endedAt: Self.ended + 1_000)])
        #expect(try await fixture.follow(taken, "3", at: Self.ended - 1_000, card: "first") == .stored)
        #expect(try await fixture.publish(Self.name) == .refused(.nameClosed))
    }

    @Test func `a clock that is nine hours slow is followed from the arrival`() async throws {
        let fixture = try await PushFixture.start()
        let (named, unnamed) = (ChannelID.random(), ChannelID.random())
        let behind = Self.now - 9 * 3_600_000
        #expect(try await fixture.follow(named, "1", at: behind, card: "first") == .stored)
        #expect(try await fixture.follow(unnamed, "2", at: behind) == .stored)
        #expect(try await fixture.tokens() == ["01", "02"])
        #expect(try await fixture.follow(named, "3", at: behind + 1_000, card: "first") == .stored, "the same card")
        #expect(try await fixture.follow(unnamed, "4", at: behind + 1_000) == .stale, "it may be an older one")
        #expect(try await fixture.follow(named, "5", at: behind + 2_000, card: "older") == .stale)
        #expect(try await fixture.tokens() == ["02", "03"])
        // A card that reports its start may be over because of its age.
        let over = Registration(
            channel: .random(), token: try PushToken(hex: "06"), registeredAt: behind, startedAt: behind - 31_000_000)
        let results = try await fixture.store.registry.track(
            fixture.app, .activity(try ActivityName(Self.name)), [over])
        #expect(results == [.stale])
    }
}

extension PushFixture {
    fileprivate func follow(
        _ channel: ChannelID, _ token: String, at time: Int64, card: String? = nil
    ) async throws -> RegistrationResult {
        let registration = Registration(
            channel: channel, token: try PushToken(hex: "0" + token), registeredAt: time, activityID: card)
        return try await store.registry.track(app, .activity(try ActivityName("order-1")), [registration])[0]
    }

    /// The tokens in hex, sorted.
    fileprivate func tokens() async throws -> [String] {
        let (page, _) = try await store.tokens.page(
            app, .activity(try ActivityName("order-1")), from: .start, to: .end, limit: 10)
        return (0..<page.count).map { Hex.encode(Array(page.token($0))) }.sorted()
    }
}
