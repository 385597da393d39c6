import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// The receipts of devices that a push counts, and those that it does not.
@Suite struct ReceiptsTests {
    private static let acceptedAt: Int64 = 1_795_000_000_000
    private static let window = Receipts.window.milliseconds

    @Test func `a device counts once for each push and event, however often it tells`() async throws {
        let fixture = try await PushFixture.start()
        let (one, other) = (try await fixture.push(), try await fixture.push(name: "match-2"))
        let (ann, ben) = (ChannelID.random(), try ChannelID("device-1"))
        var receipts = [ann, ben, ann].map { Receipt(push: one, event: .shown, channel: $0) }
        receipts.append(Receipt(push: one, event: .dismissed, channel: ann))
        receipts.append(Receipt(push: other, event: .shown, channel: ann))
        for _ in 1...3 {
            #expect(try await count(receipts, fixture) == ReceiptTally(accepted: 5))
            #expect(try await fixture.ledger(one).receipts == [.shown: 2, .dismissed: 1])
            #expect(try await fixture.ledger(other).receipts == [.shown: 1])
        }
        _ = try await count([Receipt(push: one, event: .shown, channel: .random())], fixture)
        #expect(try await fixture.ledger(one).receipts == [.shown: 3, .dismissed: 1])
    }

    @Test func `up to a thousand devices the count is exact, above it is a good estimate that takes bounded memory`()
        async throws
    {
        let fixture = try await PushFixture.start()
        let push = try await fixture.push()
        let key = try key(push, .shown, fixture)
        let receipts = (0..<5_000).map { _ in Receipt(push: push, event: .shown, channel: .random()) }
        func shown() async throws -> Int { try await fixture.ledger(push).receipts[.shown] ?? 0 }
        func size() async throws -> Int { try await fixture.store.redis.send(RedisCommand("STRLEN", key)).integer() }
        for part in Array(receipts.prefix(1_000)).parts(of: 150) { _ = try await count(part, fixture) }
        #expect(try await shown() == 1_000)
        _ = try await count(receipts.prefix(1_000).reversed(), fixture)
        #expect(try await shown() == 1_000)
        #expect(try await size() == 8_000)
        _ = try await count([receipts[1_000]], fixture)
        let first = try await shown()
        #expect((1_001...1_080).contains(first))
        for part in Array(receipts.dropFirst(1_001)).parts(of: 400) { _ = try await count(part, fixture) }
        let all = try await shown()
        // Six standard errors.
        #expect((4_760...5_240).contains(all))
        for part in Array(receipts.reversed()).parts(of: 333) { _ = try await count(part, fixture) }
        #expect(try await shown() == all)
        #expect(try await size() < 12_500)
    }

    @Test func `a fingerprint that stands across two others is another device`() async throws {
        let fixture = try await PushFixture.start()
        let push = try await fixture.push()
        let tag = fixture.store.keys.tag(fixture.app, try ActivityName("match-1"))
        for (told, shown) in [("saaaabbbb", 1), ("sbbbbaaaa", 2), ("saaaabbbb", 2), ("sbbaaaabb", 3), ("sbbbbbbbb", 4)]
        {
            let reply = try await fixture.store.redis.send(
                RedisCommand(
                    Lua.receiptCount,
                    keys: [
                        "n": fixture.store.keys.name(tag), "p": fixture.store.keys.push(tag, push),
                        "pk": fixture.store.keys.keptPushes(tag, push), "shown": try key(push, .shown, fixture),
                        "ended": try key(push, .ended, fixture), "dismissed": try key(push, .dismissed, fixture),
                    ], ["at": .int(Self.acceptedAt), "most": "4", "window": .int(Self.window)], rest: [.string(told)]))
            #expect(try reply.string() == "ok")
            #expect(try await fixture.ledger(push).receipts == [.shown: shown])
        }
    }

    @Test func `a push counts for a day, and Redis then forgets the devices but not the counts`() async throws {
        let fixture = try await PushFixture.start()
        let push = try await fixture.push()
        let key = try key(push, .shown, fixture)
        func tell(_ channel: ChannelID, after time: Int64) async throws -> ReceiptTally {
            try await count(
                [Receipt(push: push, event: .shown, channel: channel)], fixture, at: Self.acceptedAt + time)
        }
        func life(_ key: RedisKey) async throws -> Int64 {
            Int64(try await fixture.store.redis.send(RedisCommand("PTTL", key)).integer())
        }
        let (first, second) = (ChannelID.random(), ChannelID.random())
        #expect(try await tell(first, after: 1_000) == ReceiptTally(accepted: 1))
        #expect(try await (1...Self.window).contains(life(key)))
        #expect(try await tell(second, after: Self.window - 600_000) == ReceiptTally(accepted: 1))
        #expect(try await (1...600_000).contains(life(key)))
        #expect(try await tell(.random(), after: Self.window) == ReceiptTally(late: 1))
        #expect(try await fixture.ledger(push).receipts == [.shown: 2])
        let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, try ActivityName("match-1")), push)
        #expect(try await life(record) > Self.window, "the push's own life is as before")
    }

    @Test func `receipts of pushes that the app does not have write nothing`() async throws {
        let fixture = try await PushFixture.start()
        let push = try await fixture.push()
        let receipts = [push, .random(), .ordered(at: Self.acceptedAt, index: 1)]
            .map { Receipt(push: $0, event: .shown, channel: .random()) }
        let foreign = try await fixture.store.receipts.count(AppKey("other"), receipts, now: Self.acceptedAt)
        #expect(foreign == ReceiptTally(unknown: 3))
        #expect(try await fixture.ledger(push).receipts == [:])
        // The index outlives the record.
        let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, try ActivityName("match-1")), push)
        try await fixture.unpack("match-1")
        _ = try await fixture.store.redis.send(RedisCommand("DEL", record))
        #expect(try await count(receipts, fixture) == ReceiptTally(unknown: 3))
        for key in [record, try key(push, .shown, fixture)] {
            #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", key)).integer() == 0)
        }
    }

    @Test func `the history has the counts`() async throws {
        let fixture = try await PushFixture.start()
        let now = fixture.store.time.now()
        let push = try await fixture.push(now: now)
        _ = try await count([Receipt(push: push, event: .ended, channel: .random())], fixture, at: now)
        let page = try await fixture.store.pushes.history(fixture.app, PushFilter(), after: nil, limit: 10)
        #expect(page.pushes.map(\.receipts) == [[.ended: 1]])
    }

    private func count(
        _ receipts: some Collection<Receipt>, _ fixture: PushFixture, at time: Int64 = Self.acceptedAt + 1_000
    ) async throws -> ReceiptTally {
        try await fixture.store.receipts.count(fixture.app, Array(receipts), now: time)
    }

    private func key(_ push: PushID, _ event: ReceiptEvent, _ fixture: PushFixture) throws -> RedisKey {
        let keys = fixture.store.keys
        return keys.receipts(keys.tag(fixture.app, try ActivityName("match-1")), push, event)
    }
}
