import LiveActivity
import Synchronization
import Testing

@testable import Store

/// The process whose script ends a push reports the end, once.
@Suite struct PushEndingTests {
    private static let name = "match-1"
    private let channel: [UInt8] = [1, 2]

    /// The ends that a store told of.
    private final class Told: Sendable {
        private let endings = Mutex<[PushEnding]>([])

        init(_ store: Store) {
            store.endings.listen { [self] ending in endings.withLock { $0.append(ending) } }
        }

        var all: [PushEnding] { endings.withLock(\.self) }
        var pushes: [PushID] { all.map(\.push) }
    }

    @Test func `a push that ends with its only page is told with the ledger that Redis has`() async throws {
        let fixture = try await PushFixture.start()
        let told = Told(fixture.store)
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 3
        settlement.count(.delivered, 2)
        settlement.count(.skipped, 1)
        for _ in 0..<2 {
            // A client repeats the call when the answer was lost.
            _ = try await fixture.store.sweeps.settle(claim.lease, for: fixture.lease, settlement, of: claim.record)
        }
        #expect(told.pushes == [id] && told.all[0].name.rawValue == Self.name)
        var known = try #require(told.all[0].ledger)
        let stored = try await fixture.ledger(id)
        #expect(known.finishedAt == nil)
        known.finishedAt = stored.finishedAt
        #expect(known == stored)
        let line = known.summary(now: known.createdAt + 7).mapValues { "\($0)" }
        #expect(line["state"] == "done" && line["targets"] == "3" && line["delivered"] == "2" && line["skipped"] == "1")
        #expect(line["failed"] == nil && line["bytes"] == "\(claim.record.payload.count)" && line["ms"] != nil)
    }

    @Test func `a push that waits for a retry is told when the retry ends it`() async throws {
        let fixture = try await PushFixture.start()
        let told = Told(fixture.store)
        let id = try await fixture.accepted(Self.name)
        try await fixture.retry(try await fixture.claimed(Self.name, id), [channel], due: 5_000)
        #expect(told.all.isEmpty)
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        for _ in 0..<2 { try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) } }
        #expect(told.pushes == [id] && told.all[0].ledger == nil, "its ledger is in Redis")
    }

    @Test func `a push with dead tokens is told when their removal is confirmed`() async throws {
        let fixture = try await PushFixture.start()
        let told = Told(fixture.store)
        let channel = ChannelID.random()
        try await fixture.track(Self.name, channel, token: 1, at: 1_795_000_000_000)
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.remove(TokenRemoval(channel: channel.stored, token: [1], deadSince: nil, reason: "BadDeviceToken"))
        _ = try await fixture.store.sweeps.settle(claim.lease, for: fixture.lease, page, of: claim.record)
        #expect(told.all.isEmpty)
        let pending = try await fixture.pendingRemovals(Self.name)
        for _ in 0..<2 {
            _ = try await fixture.store.sweeps.confirm(
                fixture.app, try ActivityName(Self.name), pending.map { (pending: $0, as: .pruned) })
        }
        #expect(told.pushes == [id])
        #expect(try await fixture.ledger(id).state == .done)
    }

    /// Its only token had failed for good, so the resumed push ends at once.
    @Test func `a stopped push of which nothing is left to retry is told by the retry`() async throws {
        let fixture = try await PushFixture.start()
        let time = try await fixture.redisTime()
        guard case .accepted(let id, _, _) = try await fixture.publish(Self.name, now: time) else {
            throw Unexpected(what: "not accepted")
        }
        let claim = try await fixture.claimed(Self.name, id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.count(.failed)
        page.stop = "TopicDisallowed"
        _ = try await fixture.settle(claim, page)
        #expect(try await fixture.ledger(id).state == .failed)
        let told = Told(fixture.store)
        let retried = try await fixture.store.deadLetters.retry(fixture.app, id)
        #expect(retried == .taken(tokens: 0, isResumed: true))
        #expect(told.pushes == [id])
        #expect(told.all.first?.ledger?.state == .done && told.all.first?.ledger?.failed == 1)
    }

    @Test func `pushes that are superseded or cancelled before they begin are told`() async throws {
        let fixture = try await PushFixture.start()
        let told = Told(fixture.store)
        let old = try await fixture.accepted(Self.name)
        let new = try await fixture.accepted(Self.name)
        #expect(told.pushes == [old] && told.all[0].supersededBy == new)
        _ = try await fixture.store.pushes.cancel(fixture.app, new)
        #expect(told.pushes == [old, new] && told.all[1].ledger?.state == .cancelled)
        _ = try await fixture.store.pushes.cancel(fixture.app, new)
        #expect(told.pushes.count == 2, "it was cancelled before")
    }
}
