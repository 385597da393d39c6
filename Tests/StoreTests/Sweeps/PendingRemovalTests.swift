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
}
