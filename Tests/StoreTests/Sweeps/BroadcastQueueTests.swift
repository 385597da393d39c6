import LiveActivity
import Redis
import Synchronization
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround
@testable import StoreRegistry

/// Tests the broadcast queue of a name, as the script broadcast-take keeps it.
@Suite struct BroadcastQueueTests {
    private let name = try! ActivityName("match-1")

    private func want(_ fixture: PushFixture) async throws {
        _ = try await fixture.store.broadcasts.want(fixture.app, name, .none, now: 1)
    }

    /// Takes as a worker does, which lists the pushes that expire.
    private func take(_ fixture: PushFixture) async throws -> BroadcastTake {
        var (listed, counted) = ([PushID](), [BroadcastEvent: Int]())
        while true {
            let take = try await fixture.store.broadcasts.take(
                fixture.app, name, owner: "w1", lease: fixture.lease, listed: listed)
            counted.merge(take.counted, uniquingKeysWith: +)
            guard case .expires(let pushes) = take.turn else { return BroadcastTake(turn: take.turn, counted: counted) }
            try await fixture.store.deadLetters.enlist(fixture.app, name, pushes)
            listed = pushes
        }
    }

    /// Alerts or updates for all, swept at once, so that only their broadcast is left.
    private func swept(
        _ fixture: PushFixture, alerts: Bool = true, _ audience: Audience = .all, expiries: [Int]
    ) async throws -> [PushID] {
        var ids: [PushID] = []
        for expiry in expiries {
            let publish = Publish(
                name: name, event: .update, audience: audience, contentState: RawJSON(checked: "{}"),
                alert: alerts ? RawJSON(checked: #"{"title":"t"}"#) : nil,
                options: PublishOptions(expiry: expiry))
            let id = PushID.random()
            _ = try await fixture.store.pushes.accept(
                fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
                timestampOffset: 20)
            _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 0)
            ids.append(id)
        }
        return ids
    }

    private func seconds(_ fixture: PushFixture) async throws -> Int {
        try Int(await fixture.store.redis.send(RedisCommand("TIME", near: Keyspace.queue))[0].string()) ?? 0
    }

    /// In an app with both platforms, a push for iOS alone has iOS as its audience.
    @Test func `a push for iOS goes to the channel, one for some devices does not`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let expiry = try await seconds(fixture) + 600
        for (audience, state) in [
            (Audience.platform(.ios), PushBroadcast.State.waiting), (.platform(.android), nil),
            (.tag("red", group: "device"), nil),
        ] {
            let id = try await swept(fixture, audience, expiries: [expiry])[0]
            #expect(try await fixture.ledger(id).broadcast?.state == state)
        }
    }

    @Test func `a channel that is never made holds no push past its expiry`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let ids = try await swept(fixture, expiries: [now - 1, now + 600, now - 1, now + 300])
        let ended = Mutex<[PushID]>([])
        fixture.store.endings.listen { ending in ended.withLock { $0.append(ending.push) } }
        let take = try await take(fixture)
        #expect(Set(ended.withLock(\.self)) == [ids[0], ids[2]], "the ends of both are told")
        #expect(take.counted == [.expired: 2])
        guard case .wait(let left) = take.turn else { throw Unexpected(what: "\(take)") }
        #expect(left > .seconds(20), "nothing is due before: \(left)")
        for (index, id) in ids.enumerated() {
            let ledger = try await fixture.ledger(id)
            #expect(ledger.state.isFinal == (index % 2 == 0))
            #expect(ledger.broadcast?.state == (index % 2 == 0 ? .expired : .waiting))
            let letter = try await fixture.store.deadLetters.letter(fixture.app, id)
            #expect(letter?.reasons == (index % 2 == 0 ? ["Expired": 1] : nil))
        }
    }

    /// A crash after the list is written leaves entries without a letter. A crash before it leaves nothing.
    @Test func `a broadcast does not expire before its push is on the list of dead letters`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let ids = try await swept(fixture, expiries: [now - 1, now - 1])
        let first = try await fixture.store.broadcasts.take(
            fixture.app, name, owner: "w1", lease: fixture.lease)
        guard case .expires(let pushes) = first.turn else { throw Unexpected(what: "\(first)") }
        #expect(!pushes.isEmpty && Set(pushes).isSubset(of: ids) && first.counted.isEmpty)
        for id in ids {
            #expect(try await fixture.ledger(id).broadcast?.state == .waiting)
            #expect(try await fixture.store.deadLetters.letter(fixture.app, id) == nil)
        }
        #expect(try await take(fixture).counted == [.expired: 2])
        for id in ids { #expect(try await fixture.ledger(id).state == .done) }
    }

    /// It expires before its deadline, because its next attempt would come too late.
    @Test func `an expired broadcast is a dead letter that cannot be tried again`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let id = try await swept(fixture, expiries: [try await seconds(fixture) + 600])[0]
        try await fixture.store.redis.send(
            RedisCommand(
                "HSET", fixture.store.keys.broadcast(fixture.store.keys.tag(fixture.app, name)), "state", "live", "id",
                "YQ==", "storage", "none"))
        guard case .send(let task) = try await take(fixture).turn else { throw Unexpected(what: "nothing to send") }
        let letters = fixture.store.deadLetters
        try await letters.enlist(fixture.app, name, [id])
        for _ in 0..<2 { _ = try await fixture.store.broadcasts.settle(task, BroadcastSettlement(.expired)) }
        let letter = try #require(try await letters.letter(fixture.app, id))
        #expect(letter.reasons == ["Expired": 1] && letter.kept == 0 && letter.stopped == nil)
        #expect(try await letters.retry(fixture.app, id) == .expired)
        #expect(try await letters.letter(fixture.app, id) == letter, "it stays to be seen")
        guard case .idle = try await take(fixture).turn else { throw Unexpected(what: "it is broadcast again") }
        #expect(try await fixture.ledger(id).broadcast?.state == .expired)
    }

    @Test func `a long queue is looked at in parts, and no push is left out`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let count = Broadcasts.look * 2 + 30
        let ids = try await swept(
            fixture, expiries: (0..<count).map { $0 % 3 == 1 ? now - 1 : now + 600 })
        var (looks, expired) = (0, 0)
        while looks < 10 {
            let take = try await take(fixture)
            looks += 1
            expired += take.counted[.expired] ?? 0
            #expect(take.counted[.expired] ?? 0 <= 2 * Broadcasts.look)
            guard case .wait(let left) = take.turn else { throw Unexpected(what: "\(take)") }
            if left > .seconds(1) { break }
        }
        #expect(expired == ids.indices.count { $0 % 3 == 1 } && (2...4).contains(looks))
        let line = try await fixture.store.redis.send(
            RedisCommand("ZCARD", fixture.store.keys.broadcastQueue(fixture.store.keys.tag(fixture.app, name))))
        #expect(try line.integer() == count - expired)
        // The next round begins at the head of the queue again.
        guard case .wait(let left) = try await take(fixture).turn else { throw Unexpected(what: "not waiting") }
        #expect(left < .seconds(1))
    }

    @Test(arguments: [BroadcastSettlement(.delivered), BroadcastSettlement(.failed)])
    func `a superseded broadcast goes out if the newer one is refused`(newest: BroadcastSettlement) async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let ids = try await swept(fixture, alerts: false, expiries: [now + 600, now + 600, now + 600])
        let channel = fixture.store.keys.broadcast(fixture.store.keys.tag(fixture.app, name))
        try await fixture.store.redis.send(
            RedisCommand("HSET", channel, "state", "live", "id", "YQ==", "storage", "none"))
        var sent: [PushID] = []
        while case .send(let task) = try await take(fixture).turn {
            sent.append(task.lease.push)
            _ = try await fixture.store.broadcasts.settle(
                task, sent.count == 1 ? newest : BroadcastSettlement(.delivered))
            // The interval is over.
            try await fixture.store.redis.send(RedisCommand("HSET", channel, "sent", "0"))
        }
        let isDelivered = newest.event == .delivered
        #expect(sent == (isDelivered ? [ids[2]] : [ids[2], ids[1]]))
        let states: [PushBroadcast.State] =
            isDelivered ? [.superseded, .superseded, .delivered] : [.superseded, .delivered, .failed]
        for (id, state) in zip(ids, states) {
            let ledger = try await fixture.ledger(id)
            #expect(ledger.state == .done && ledger.broadcast?.state == state)
        }
    }

    @Test func `of many updates the newest that lives as long is left`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let count = Broadcasts.look + 30
        // The newest update expires before those before it, so it supersedes none of them.
        let expiries = Array(repeating: now + 600, count: count) + [now + 300]
        let ids = try await swept(fixture, alerts: false, expiries: expiries)
        var superseded = 0
        for _ in 0..<4 { superseded += try await take(fixture).counted[.superseded] ?? 0 }
        #expect(superseded == count - 2, "the last one before the newest goes out if that one fails")
        for id in ids.suffix(3) { #expect(try await fixture.ledger(id).broadcast?.state == .waiting) }
    }
}
