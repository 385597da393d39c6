import LiveActivity
import Redis
import Testing

@testable import Store

/// Tests the broadcast queue of a name, as the script broadcast-take keeps it.
@Suite struct BroadcastLineTests {
    private let name = try! ActivityName("match-1")

    private func want(_ fixture: PushFixture) async throws {
        _ = try await fixture.store.broadcasts.want(fixture.app, name, .none, now: 1)
    }

    private func take(_ fixture: PushFixture) async throws -> BroadcastTake {
        try await fixture.store.broadcasts.take(fixture.app, name, owner: "w1", lease: fixture.lease)
    }

    /// Alerts or updates for all, swept at once, so that only their broadcast is left.
    private func swept(_ fixture: PushFixture, alerts: Bool = true, expiries: [Int]) async throws -> [PushID] {
        var ids: [PushID] = []
        for expiry in expiries {
            let publish = Publish(
                name: name, event: .update, audience: .all, contentState: RawJSON(checked: "{}"),
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

    @Test func `a channel that is never made holds no push past its expiry`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let ids = try await swept(fixture, expiries: [now - 1, now + 600, now - 1, now + 300])
        let take = try await take(fixture)
        #expect(take.counted == [.expired: 2])
        guard case .wait(let left) = take.turn else { throw Unexpected(what: "\(take)") }
        #expect(left > .seconds(20), "nothing is due before: \(left)")
        for (index, id) in ids.enumerated() {
            let ledger = try await fixture.ledger(id)
            #expect(ledger.state.isFinal == (index % 2 == 0))
            #expect(ledger.broadcast?.state == (index % 2 == 0 ? .expired : .waiting))
        }
    }

    @Test func `a long line is looked at in parts and misses nobody`() async throws {
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

    @Test func `of a long line of updates the newest is left that lives as long`() async throws {
        let fixture = try await PushFixture.start()
        try await want(fixture)
        let now = try await seconds(fixture)
        let count = Broadcasts.look + 30
        // The newest update expires before those before it, so it supersedes none of them.
        let expiries = Array(repeating: now + 600, count: count) + [now + 300]
        let ids = try await swept(fixture, alerts: false, expiries: expiries)
        var superseded = 0
        for _ in 0..<4 { superseded += try await take(fixture).counted[.superseded] ?? 0 }
        #expect(superseded == count - 1)
        for id in ids.suffix(2) { #expect(try await fixture.ledger(id).broadcast?.state == .waiting) }
    }
}
