import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests machines whose clocks differ by minutes. Redis's clock decides.
@Suite struct ServerTimeTests {
    @Test func `a process whose clock is five minutes behind knows the time`() async throws {
        let fixture = try await PushFixture.start()
        let time = ServerTime(redis: fixture.store.redis, machine: { wallClock() - 300_000 })
        #expect(time.machineAhead == nil && time.now() < wallClock() - 200_000, "nothing was measured yet")
        try await time.measure()
        // The server runs on this machine, so both clocks agree.
        #expect(abs(time.now() - wallClock()) < 60_000)
        let ahead = try #require(time.machineAhead)
        #expect((-360_000 ... -240_000).contains(ahead))
    }

    @Test func `a measurement that fails leaves the last one`() async throws {
        let fixture = try await PushFixture.start()
        let time = ServerTime(redis: fixture.store.redis, machine: { 0 })
        try await time.measure()
        fixture.server.stop()
        await #expect(throws: StoreError.self) { try await time.measure() }
        #expect(time.now() > 1_700_000_000_000)
    }

    @Test func `two gateways whose clocks differ by minutes agree on what is newer`() async throws {
        let fixture = try await PushFixture.start()
        let redis = fixture.store.redis
        let name = try ActivityName("order-1")
        let ahead = Store(redis: redis, machine: { wallClock() + 300_000 }, clock: nil)
        let behind = Store(redis: redis, machine: { wallClock() - 300_000 }, clock: nil)
        for store in [ahead, behind] {
            // A busy machine may measure badly, so repeat until the clock is right to a few milliseconds.
            try await eventually("the clock is measured") {
                try await store.time.measure()
                let before = store.time.now()
                let redisTime = try await fixture.redisTime()
                let after = store.time.now()
                return after - before < 10 && before - 5 <= redisTime && redisTime <= after + 5
            }
        }
        let channel = ChannelID.random()
        // A token without a time comes through one gateway, its rotation through the other, and so on.
        var last = ""
        for (round, store) in [ahead, behind, ahead, behind].enumerated() {
            last = "ab0\(round)"
            let now = store.time.now()
            let registration = Registration(channel: channel, token: try PushToken(hex: last), registeredAt: now)
            _ = try await store.registry.track(fixture.app, .activity(name), [registration])
            let (page, _) = try await fixture.store.tokens.page(
                fixture.app, .activity(name), from: .start, to: .end, limit: 10)
            #expect(Hex.encode(page.token(0)) == last)
            // Two measured clocks may differ by a few milliseconds.
            try await eventually("both clocks are later") { min(ahead.time.now(), behind.time.now()) > now }
        }
        // A registration after the end opens the name again, whichever gateway receives it.
        _ = try await fixture.accept("order-1", event: .end)
        let ended = try await fixture.redisTime()
        try await eventually("its clock is later") { behind.time.now() > ended }
        _ = try await behind.registry.track(
            fixture.app, .activity(name),
            [Registration(channel: .random(), token: try PushToken(hex: "ff"), registeredAt: behind.time.now())])
        guard case .accepted = try await fixture.accept("order-1") else { throw Unexpected(what: "still ended") }
    }

    @Test func `acceptance and end and cancelling are dated by Redis`() async throws {
        let fixture = try await PushFixture.start()
        let before = try await fixture.redisTime()
        let id = PushID.random()
        let acceptance = try await fixture.accept("order-1", event: .end, id: id)
        guard case .accepted(_, _, let timestamp) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        let ended = try await fixture.store.redis.send(
            RedisCommand("HGET", fixture.key(Keyspace.name, "order-1"), "ended"))
        let cancelled = try await fixture.store.pushes.cancel(fixture.app, id)
        let after = try await fixture.redisTime()
        #expect((before / 1_000...after / 1_000).contains(Int64(timestamp)))
        let ledger = try await fixture.ledger(id)
        #expect((before...after).contains(ledger.createdAt))
        #expect((ledger.createdAt...after).contains(try #require(cancelled?.finishedAt)))
        #expect(Int64(try ended.string()) == ledger.createdAt)
    }
}

extension PushFixture {
    /// Accepts a publish as a gateway does, without a time from the caller.
    func accept(
        _ name: String, event: ActivityEvent = .update, audience: Audience = .all, alert: Bool = false,
        priority: PushPriority = .high, conflate: Bool = true, id: PushID = .random()
    ) async throws -> Acceptance {
        let publish = Publish(
            name: try ActivityName(name), event: event, audience: audience, priority: priority,
            alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil, options: PublishOptions(conflate: conflate))
        return try await store.pushes.accept(
            app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8), timestampOffset: 20)
    }
}
