import LiveActivity
import TestSupport
import Testing

@testable import Store

/// The part of a ledger on a platform that counts apart, as the scripts count it.
@Suite struct PlatformCountsTests {
    private static let (pad, phone): ([UInt8], [UInt8]) = ([1, 1], [1, 2])

    /// Settles the push's page, whose two channels wait for another attempt.
    private func retry(_ fixture: PushFixture, _ id: PushID) async throws {
        let claim = try await fixture.claimed("match-1", id)
        var page = Settlement(range: claim.lease.bounds)
        page.count(targets: 1)
        page.count(targets: 1, on: .android)
        page.retry(Self.pad, due: 5_000, attempts: 1)
        page.retry(Self.phone, due: 5_000, attempts: 1, on: .android)
        _ = try await fixture.settle(claim, page)
    }

    @Test func `waiting channels of a stopped push count on their platforms`() async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted("match-1")
        try await retry(fixture, old)
        let new = try await fixture.accepted("match-1")
        try await fixture.joinQueues(try await fixture.claimed("match-1", new), [Self.pad])
        let lease = try await fixture.claimRetries("match-1")
        let due = try await fixture.due(lease)
        #expect(due.first { $0.channel == Self.phone }?.platform == .android, "its retry queue tells it")
        let pad = try #require(due.first { $0.channel == Self.pad })
        #expect(pad.push == new)
        try await fixture.settle(lease) { $0.finish(pad, as: .delivered) }
        _ = try await fixture.store.pushes.cancel(fixture.app, old)
        let ledger = try await fixture.ledger(old)
        #expect(ledger.state == .cancelled && ledger.superseded == 1 && ledger.skipped == 1)
        #expect(
            ledger.byPlatform == [
                .ios: Outcomes(targets: 1, [.superseded: 1]), .android: Outcomes(targets: 1, [.skipped: 1]),
            ])
    }

    @Test func `a push that joins and is superseded counts on the channel's platform`() async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted("match-1")
        try await retry(fixture, old)
        var ids: [PushID] = []
        for _ in 0..<3 {
            let id = try await fixture.accepted("match-1")
            let claim = try await fixture.claimed("match-1", id)
            var page = Settlement(range: claim.lease.bounds)
            page.joinQueue(Self.phone, mostAttempts: 4, on: .android)
            _ = try await fixture.settle(claim, page)
            ids.append(id)
        }
        // Only the newest two of a row wait.
        #expect(try await fixture.ledger(ids[0]).byPlatform[.android] == Outcomes(targets: 1, [.superseded: 1]))
        let lease = try await fixture.claimRetries("match-1")
        let phone = try #require(try await fixture.due(lease).first { $0.channel == Self.phone })
        #expect(phone.push == ids[2])
        try await fixture.settle(lease) { $0.finish(phone, as: .delivered) }
        #expect(try await fixture.ledger(ids[1]).byPlatform[.android] == Outcomes(targets: 1, [.superseded: 1]))
        #expect(try await fixture.ledger(ids[2]).byPlatform[.android] == Outcomes(targets: 1, [.delivered: 1]))
        let first = try await fixture.ledger(old)
        #expect(
            first.byPlatform == [
                .ios: Outcomes(targets: 1), .android: Outcomes(targets: 1, [.superseded: 1]),
            ])
    }

    @Test(arguments: 1...Platform.mostCode)
    func `a push that any platform refused and that reached nobody ends as a stopped one`(code: UInt8) async throws {
        let fixture = try await PushFixture.start()
        let (id, platform) = (try await fixture.accepted("match-1"), Platform(code: code))
        let claim = try await fixture.claimed("match-1", id)
        var page = Settlement(range: claim.lease.bounds)
        page.count(targets: 1, on: platform)
        page.count(.failed, on: platform)
        page.refuse(claim.record, on: platform, reason: "TopicDisallowed")
        _ = try await fixture.settle(claim, page)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .failed && ledger.errors["TopicDisallowed"] == 1)
    }

    @Test func `a dead address that the page and the catch-up had is one target of its platform`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let prune = TokenRemoval(channel: channel.stored, token: [1], deadSince: nil, platform: .android)
        var page = Settlement(range: claim.lease.bounds)
        page.count(targets: 1)
        page.count(targets: 1, on: .android)
        page.count(.delivered)
        page.remove(prune)
        _ = try await fixture.settle(claim, page)
        try await fixture.catchUp("match-1", id) { caught in
            caught.count(targets: 1, on: .android)
            caught.remove(prune)
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 2 && ledger.pending == 1)
        #expect(ledger.byPlatform[.android] == Outcomes(targets: 1))
    }
}
