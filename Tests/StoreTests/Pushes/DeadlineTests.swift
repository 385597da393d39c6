import LiveActivity
import TestSupport
import Testing

@testable import Store

/// Tests how long a push is tried. This is fixed at acceptance and is the same for all readers.
@Suite struct DeadlineTests {
    private static let now: Int64 = 1_795_000_000_000

    @Test(arguments: [(ActivityEvent.start, Int64(3_600)), (.update, 28_800), (.end, 28_800)])
    func `a push without an expiry lives as long as its event`(event: ActivityEvent, seconds: Int64) async throws {
        let fixture = try await PushFixture.start()
        let record = try await fixture.record(try await fixture.push(event))
        #expect(record.deadline == Self.now + seconds * 1_000 && record.expiry == nil)
    }

    @Test func `the life of an app's pushes counts from their acceptance, an expiry is what it says`() async throws {
        let fixture = try await PushFixture.start()
        var publish = Publish(name: try ActivityName("match-1"), event: .update, audience: .all)
        publish.life = .seconds(90)
        #expect(try await fixture.record(try await fixture.accept(publish)).deadline == Self.now + 90_000)
        publish.options.expiry = 1_795_000_007
        #expect(try await fixture.record(try await fixture.accept(publish)).deadline == 1_795_000_007_000)
        publish.options.expiry = 0
        #expect(try await fixture.record(try await fixture.accept(publish)).deadline == Self.now + 90_000)
    }

    @Test func `a stale date is no deadline`() async throws {
        let fixture = try await PushFixture.start()
        let publish = Publish(
            name: try ActivityName("match-1"), event: .update, audience: .all, staleDate: 1_794_000_000)
        #expect(try await fixture.record(try await fixture.accept(publish)).deadline == Self.now + 28_800_000)
    }

    /// In seconds after the acceptance. A device makes no card of a start that is stale.
    @Test(
        arguments: [(nil, 60, 60), (30, 60, 30), (0, 60, 60), (nil, 7_200, 3_600), (7_200, -60, -60)]
            as [(Int?, Int, Int)])
    func `a start expires at its stale date, if nothing ends it earlier`(expiry: Int?, stale: Int, end: Int)
        async throws
    {
        let fixture = try await PushFixture.start()
        let now = Int(Self.now / 1_000)
        let publish = Publish(
            name: try ActivityName("match-1"), event: .start, audience: .all, staleDate: now + stale,
            attributesType: "T", options: PublishOptions(expiry: expiry.map { $0 == 0 ? 0 : now + $0 }))
        let record = try await fixture.record(try await fixture.accept(publish))
        #expect(record.deadline == Self.now + Int64(end) * 1_000)
        #expect(record.expiry == publish.options.expiry, "apns-expiration is the publisher's")
    }

    @Test func `what expires unsent is a dead letter that cannot be tried again`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.push(expiry: 1_794_000_000)
        let claim = try await fixture.claimed("match-1", id)
        let letters = fixture.store.deadLetters
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 3
        page.count(.expired, 2)
        page.retry([1, 2], due: 5_000, attempts: 1)
        #expect(page.givesUp)
        try await letters.enlist(fixture.app, try ActivityName("match-1"), [id])
        for _ in 0..<2 { _ = try await fixture.settle(claim, page) }
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        for _ in 0..<2 { try await fixture.settle(lease) { $0.finish(waiting, as: .expired) } }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .expired && ledger.expired == 3)
        let letter = try #require(try await letters.letter(fixture.app, id))
        #expect(letter.reasons == ["Expired": 3] && letter.kept == 0 && letter.stopped == nil)
        #expect(try await letters.retry(fixture.app, id) == .expired)
        #expect(try await letters.letter(fixture.app, id) == letter, "it stays to be seen")
    }
}

extension PushFixture {
    fileprivate func accept(_ publish: Publish) async throws -> PushID {
        let id = PushID.random()
        _ = try await store.pushes.accept(
            app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20,
            now: 1_795_000_000_000)
        return id
    }

    fileprivate func record(_ id: PushID) async throws -> PushRecord {
        guard let record = try await store.sweeps.records(app, try ActivityName("match-1"), [id])[id] else {
            throw Unexpected(what: "no record")
        }
        return record
    }
}
