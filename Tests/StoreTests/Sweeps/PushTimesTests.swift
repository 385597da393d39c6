import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// How long a push waited for its begin, and when it reached its first device.
@Suite struct PushTimesTests {
    private static let name = "match-1"

    private func fields(_ fixture: PushFixture, _ id: PushID) async throws -> StoredHash {
        let tag = fixture.store.keys.tag(fixture.app, try ActivityName(Self.name))
        return try await fixture.store.redis.pushFields(fixture.store.keys, [(tag, id)])[0]
    }

    private func isKept(_ fixture: PushFixture, _ id: PushID) async throws -> Bool {
        let block = fixture.store.keys.keptPushes(fixture.store.keys.tag(fixture.app, try ActivityName(Self.name)), id)
        return try await fixture.store.redis.run("HEXISTS", block, .bytes(id.uuid.bytes)).integer() == 1
    }

    /// Accepts a push so many ms ago.
    private func accept(_ fixture: PushFixture, _ age: Int64) async throws -> PushID {
        let acceptance = try await fixture.publish(Self.name, now: try await fixture.redisTime() - age)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    /// When the name's newest state began.
    private func begun(_ fixture: PushFixture) async throws -> Int {
        let meta = try fixture.key(Keyspace.name, Self.name)
        let newest = try await fixture.store.redis.run("HGET", meta, "newest").string().split(separator: " ")
        return try #require(newest.last.flatMap { Int($0) })
    }

    private enum Way: CaseIterable { case lone, unpacked, ownKeys, takenOver }

    @Test(arguments: Way.allCases)
    private func `a push that waited a second knows how long, whatever form it has`(way: Way) async throws {
        let fixture = try await PushFixture.start()
        func accept() async throws -> PushID { try await self.accept(fixture, 5_000) }
        let id = way == .ownKeys ? try await fixture.withOwnKeys(Self.name, accept) : try await accept()
        if way == .takenOver {
            // Its worker is killed.
            let (begun, _) = try await fixture.store.sweeps.begin(
                fixture.app, try ActivityName(Self.name), expecting: id, owner: "w0", lease: .zero, minInterval: .zero)
            guard case .claimed = begun else { throw Unexpected(what: "\(begun)") }
            // The first begin counts, also if the second one comes later.
            try await eventually("Redis's clock goes on") {
                try await fixture.redisTime() > Int64(try await self.begun(fixture))
            }
        }
        let claim = try await fixture.claimed(Self.name, id)
        if way == .unpacked { try await fixture.unpack(Self.name) }
        let waited = Int(try await fixture.ledger(id).createdAt).distance(to: try await begun(fixture))
        _ = try await fixture.deliver(claim, targets: 2)
        #expect(try await isKept(fixture, id) == (way == .lone))
        let fields = try await fields(fixture, id)
        #expect(waited >= 5_000 && fields.number("waited") == waited)
        #expect(fields.number("delivered") == 2 && fields.text("first") == nil)
    }

    @Test(arguments: [false, true])
    func `a push that begins within a second takes nothing for it`(hasOwnKeys: Bool) async throws {
        let fixture = try await PushFixture.start()
        // The machine may be slow, so the push is from a time that lies ahead.
        func accept() async throws -> PushID { try await self.accept(fixture, -60_000) }
        let id = hasOwnKeys ? try await fixture.withOwnKeys(Self.name, accept) : try await accept()
        let claim = try await fixture.claimed(Self.name, id)
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await fields(fixture, id).text("waited") == nil)
    }

    @Test func `a record says a wait of 4.6 hours at most`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await accept(fixture, 20_000_000)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        #expect(try await isKept(fixture, id))
        #expect(try await fields(fixture, id).number("waited") == 1 << 24 - 1)
    }

    @Test func `the first page with a delivery says when the push reached a device`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await accept(fixture, 0)
        let claim = try await fixture.claimed(Self.name, id)
        let (begin, end) = (claim.lease.bounds.lowerBound, claim.lease.bounds.upperBound)
        func settle(_ range: Range<ScanPosition>, _ outcome: SettledField) async throws {
            var page = Settlement(range: range)
            page.targets = 3
            page.count(outcome, 3)
            _ = try await fixture.settle(claim, page)
        }
        try await settle(begin..<(.share(256)), .failed)
        #expect(try await fields(fixture, id).text("first") == nil, "it reached nobody yet")
        try await settle(.share(256)..<(.share(512)), .delivered)
        let first = try #require(try await fields(fixture, id).number("first"))
        try await eventually("Redis's clock goes on") { try await fixture.redisTime() > Int64(first) }
        // The answer of the page was lost, and another page comes.
        try await settle(.share(256)..<(.share(512)), .delivered)
        try await settle(.share(512)..<(.share(768)), .delivered)
        try await settle(.share(768)..<end, .delivered)
        let fields = try await fields(fixture, id)
        #expect(fields.text("state") == "done" && fields.number("first") == first)
        #expect(fields.number("finished") ?? 0 > first && fields.number("delivered") == 9)
    }

    @Test func `an end reaches its first device when the first of its removals is confirmed`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name, event: .end)
        let claim = try await fixture.claimed(Self.name, id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        for number in 1...2 as ClosedRange<UInt8> {
            page.remove(
                TokenRemoval(channel: ChannelID.random().stored, token: [number], endedAt: 1_795_000_000_000))
        }
        _ = try await fixture.settle(claim, page)
        #expect(try await fields(fixture, id).text("first") == nil)
        for pending in try await fixture.pendingRemovals(Self.name) {
            _ = try await fixture.store.sweeps.confirm(
                fixture.app, try ActivityName(Self.name), [(pending: pending, as: .delivered)])
            #expect(try await fields(fixture, id).text("first") != nil)
        }
        #expect(try await fixture.ledger(id).state == .done)
    }

    @Test func `a retry may be the first that reaches a device`() async throws {
        let fixture = try await PushFixture.start()
        let channels = (0..<2).map { _ in ChannelID.random() }
        let registrations = try channels.map {
            Registration(channel: $0, token: try PushToken(hex: "0a"), registeredAt: 1_795_000_000_000)
        }
        _ = try await fixture.store.registry.track(
            fixture.app, .activity(try ActivityName(Self.name)), registrations)
        let id = try await accept(fixture, 0)
        let claim = try await fixture.claimed(Self.name, id)
        try await fixture.retry(claim, channels.map(\.stored), due: 0)
        #expect(try await fields(fixture, id).text("first") == nil)
        let lease = try await fixture.claimRetries(Self.name)
        for waiting in try await fixture.due(lease) {
            try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
            if try await fixture.ledger(id).delivered == 1 {
                #expect(try await fields(fixture, id).number("first") != nil)
            }
        }
        #expect(try await fixture.ledger(id).state == .done)
    }
}
