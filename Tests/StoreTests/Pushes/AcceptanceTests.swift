import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

@Suite struct AcceptanceTests {
    @Test func `a push gets a sequence number a time and a ledger`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.publish("match-1")
        let second = try await fixture.publish("match-1", alert: true)
        guard case .accepted(let id, 1, let timestamp) = first, case .accepted(_, 2, timestamp) = second else {
            Issue.record("\(first) \(second)")
            return
        }
        #expect(timestamp == 1_795_000_000)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.name.rawValue == "match-1" && ledger.targets == 0 && ledger.createdAt == 1_795_000_000_000)
        let claim = try await fixture.claimed("match-1", try await fixture.accepted("match-1"))
        #expect(String(decoding: claim.record.payload, as: UTF8.self) == #"{"aps":{"timestamp":1795000000}}"#)
    }

    @Test func `the same id is committed once`() async throws {
        let fixture = try await PushFixture.start()
        let id = PushID.random()
        let first = try await fixture.publish("match-1", id: id)
        let again = try await fixture.publish("match-1", id: id, now: 1_795_000_099_000)
        #expect(first == again)
        #expect(
            try await fixture.publish("match-1")
                == .accepted(fixture.lastID("match-1"), sequence: 2, timestamp: 1_795_000_000))
    }

    @Test func `a repetition that fails leaves the first to be asked for`() async throws {
        let fixture = try await PushFixture.start()
        let id = PushID.random()
        _ = try await fixture.publish("match-1", id: id, isRepeatable: true)
        try await fixture.store.redis.everywhere("CONFIG", "SET", "maxmemory", "1")
        await #expect(throws: StoreError.self) { try await fixture.publish("match-1", id: id, isRepeatable: true) }
        try await fixture.store.redis.everywhere("CONFIG", "SET", "maxmemory", "0")
        #expect(try await fixture.ledger(id).state == .queued)
    }

    @Test func `timestamps never go back on their own`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.publish("match-1", timestamp: 1_795_000_200)
        guard case .accepted(_, _, let timestamp) = try await fixture.publish("match-1", now: 1_795_000_100_000) else {
            Issue.record("refused")
            return
        }
        #expect(timestamp == 1_795_000_200, "the other gateway's clock is behind: the name's time stands still")
        #expect(
            try await fixture.publish("match-1", timestamp: 1_795_000_199)
                == .refused(.timestampBehind(last: 1_795_000_200)))
    }

    @Test func `a full name is refused without a look at each of its pushes`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<Pushes.mostUnswept { _ = try await fixture.accepted("match-1", alert: true) }
        func looks() async throws -> Int {
            try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
            guard case .refused(.queueFull(.name, _)) = try await fixture.publish("match-1") else {
                throw Unexpected(what: "not refused")
            }
            return try await fixture.store.redis.calls(of: "hmget")
        }
        #expect(try await looks() > 900, "the first one finds out that nothing can be replaced")
        #expect(try await looks() < 10)
        // A supersedable push supersedes another one, and the next update supersedes that.
        let first = try await fixture.store.redis.send(RedisCommand("ZPOPMIN", fixture.key(Keyspace.unswept)))
        #expect(first.count == 2)
        let update = try await fixture.accepted("match-1")
        #expect(try await fixture.accepted("match-1") != update)
        #expect(try await fixture.ledger(update).state == .superseded)
    }

    @Test func `a newer update supersedes one that waits`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.accepted("match-1")
        let second = try await fixture.accepted("match-1")
        let ledger = try await fixture.ledger(first)
        #expect(ledger.state == .superseded && ledger.supersededBy == second && ledger.targets == 0 && ledger.expanded)
        #expect(try await fixture.claimed("match-1").lease.push == second)
    }

    @Test func `alerts, other audiences and the active push are not superseded`() async throws {
        let fixture = try await PushFixture.start()
        let running = try await fixture.accepted("match-1")
        _ = try await fixture.claimed("match-1", running)
        let alert = try await fixture.accepted("match-1", alert: true)
        let tagged = try await fixture.accepted("match-1", audience: .tag("vip", group: "device"))
        let other = try await fixture.accepted("match-1", audience: .tag("press", group: "device"))
        for id in [running, alert, tagged, other] {
            #expect(try await fixture.ledger(id).state != .superseded)
        }
        let all = try await fixture.accepted("match-1")
        #expect(try await fixture.ledger(tagged).supersededBy == all, "everyone covers a tag")
        #expect(try await fixture.ledger(alert).state == .queued)
    }

    @Test func `after an end only a new registration opens the name again`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.accepted("order-1", event: .end)
        #expect(try await fixture.publish("order-1") == .refused(.nameClosed))
        let registration = Registration(
            channel: .random(), token: try PushToken(hex: "abcd"), registeredAt: 1_795_000_001_000)
        _ = try await fixture.store.registry.track(fixture.app, .activity(try ActivityName("order-1")), [registration])
        guard case .accepted = try await fixture.publish("order-1", now: 1_795_000_003_000) else {
            Issue.record("still ended")
            return
        }
    }

    @Test func `pushes that cannot be superseded fill the name and no more`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<Pushes.mostUnswept { _ = try await fixture.publish("match-1", alert: true) }
        #expect(try await fixture.publish("match-1", alert: true) == .refused(.queueFull(.name, retryAfter: 5)))
        guard case .accepted = try await fixture.publish("match-2", alert: true) else {
            Issue.record("another name is full too")
            return
        }
    }

    @Test func `an idempotency key keeps its ids for its body`() async throws {
        let fixture = try await PushFixture.start()
        let ids = [PushID.random(), PushID.random()]
        let digest = [UInt8](repeating: 7, count: 32)
        let pushes = fixture.store.pushes
        #expect(try await pushes.reserve(fixture.app, idempotencyKey: "k", bodyDigest: digest, ids: ids) == ids)
        let later = [PushID.random(), PushID.random()]
        #expect(try await pushes.reserve(fixture.app, idempotencyKey: "k", bodyDigest: digest, ids: later) == ids)
        let other = [UInt8](repeating: 8, count: 32)
        #expect(try await pushes.reserve(fixture.app, idempotencyKey: "k", bodyDigest: other, ids: later) == nil)
        #expect(
            try await pushes.reserve(try AppKey("other"), idempotencyKey: "k", bodyDigest: other, ids: later) == later)
    }

    @Test func `a push is its app's alone`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        #expect(try await fixture.store.pushes.ledger(try AppKey("other"), id) == nil)
        #expect(try await fixture.store.pushes.cancel(try AppKey("other"), id, now: 1) == nil)
        #expect(try await fixture.store.pushes.ledger(fixture.app, .random()) == nil)
    }

    @Test func `a push that was cancelled before it began never begins`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let ledger = try await fixture.store.pushes.cancel(fixture.app, id, now: 1_795_000_005_000)
        #expect(ledger?.state == .cancelled && ledger?.finishedAt == 1_795_000_005_000)
        let (begun, _) = try await fixture.begin("match-1", id)
        guard case .idle = begun else {
            Issue.record("\(begun)")
            return
        }
    }
}

extension PushFixture {
    fileprivate func lastID(_ name: String) async throws -> PushID {
        let info = try await store.names.info(app, try ActivityName(name))
        guard let id = info?.lastPushID else { throw Unexpected(what: "no last push") }
        return id
    }
}
