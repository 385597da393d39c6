import LiveActivity
import Testing

@testable import Store

/// Removals that are owed, between the answer of APNs and the registry.
@Suite struct PendingRemovalTests {
    /// Without a time a removal counts for newer registrations too, as after a 400.
    @Test func `a 410 of time 0 is no 410 without a time, and removes nothing`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let claim = try await fixture.claimed("match-1", try await fixture.accepted("match-1"))
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.remove(TokenRemoval(channel: channel.stored, token: [1], deadSince: 0, reason: "Unregistered"))
        _ = try await fixture.settle(claim, page)
        let pending = try await fixture.pendingRemovals("match-1")
        #expect(pending.map(\.removal.deadSince) == [1])
        let name = try ActivityName("match-1")
        #expect(
            try await fixture.store.registry.prune(fixture.app, .activity(name), pending.map(\.removal)) == [.newer])
        #expect(try await fixture.store.names.info(fixture.app, name)?.tokens == 1)
    }

    /// The token of each card is the same there.
    @Test func `where a channel has one address, an end takes the following that got it, and no later one`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let (name, channel) = (try ActivityName("match-1"), ChannelID.random())
        let time: Int64 = 1_795_000_000_000
        func follow(at time: Int64) async throws -> RegistrationResult {
            let registration = Registration(
                channel: channel, token: .ofChannel(on: .android), registeredAt: time)
            return try await fixture.store.registry.track(fixture.app, .activity(name), [registration])[0]
        }
        func end(of registeredAt: Int64) async throws -> PruneResult {
            let removal = TokenRemoval(
                channel: channel.stored, token: PushToken.ofChannel, endedAt: time + 1_900,
                registeredAt: registeredAt, platform: .android)
            return try await fixture.store.registry.prune(fixture.app, .activity(name), [removal])[0]
        }
        #expect(try await follow(at: time) == .stored)
        #expect(try await follow(at: time + 1_000) == .stored)
        #expect(try await end(of: time) == .newer)
        #expect(try await fixture.store.names.info(fixture.app, name)?.tokens == 1)
        for _ in 0..<2 { #expect(try await end(of: time + 1_000) == .pruned) }
        #expect(try await follow(at: time + 1_000) == .stale, "the call is repeated")
        #expect(try await follow(at: time + 1_200) == .stored, "the end was not settled yet")
        #expect(try await end(of: time + 1_000) == .newer)
    }
}
