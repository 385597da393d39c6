import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// The scripts handle an update to a few tokens before their rules. Its effects are those of the rules.
@Suite struct SmallPushTests {
    private static let name = "order-1"
    private let name = try! ActivityName(SmallPushTests.name)

    @Test func `an update to a name with few tokens is claimed with them`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 3)
        let claim = try await fixture.claimed(Self.name, try await fixture.accepted(Self.name))
        let (page, _, _) = try await fixture.store.tokens.markedPage(
            fixture.app, .activity(name), from: .start, to: .end, limit: 100)
        let tokens = try #require(try fixture.store.tokens.readByBegin(claim)).page
        #expect(page.count == 3 && tokens.hexTokens == page.hexTokens)
    }

    @Test func `a name with more tokens or with several buckets is claimed without them`() async throws {
        for count in [40, 400] {
            let fixture = try await PushFixture.start()
            try await fixture.track(Self.name, count: count)
            let claim = try await fixture.claimed(Self.name, try await fixture.accepted(Self.name))
            #expect(try fixture.store.tokens.readByBegin(claim) == nil)
        }
    }

    /// Each of them changes who gets the push, which only the page's reader looks at.
    @Test func `marks of channels and pending removals keep the tokens out of the claim`() async throws {
        let keyspace: [(Keyspace) -> (String) -> RedisKey] = [
            Keyspace.retryQueues, Keyspace.quarantine, Keyspace.otherEnvironment, Keyspace.pendingRemovals,
            Keyspace.broadcast,
        ]
        for key in keyspace {
            let fixture = try await PushFixture.start()
            try await fixture.track(Self.name, count: 1)
            try await fixture.store.redis.send(RedisCommand("HSET", try fixture.key(key, Self.name), "field", "value"))
            let claim = try await fixture.claimed(Self.name, try await fixture.accepted(Self.name))
            #expect(try fixture.store.tokens.readByBegin(claim) == nil)
        }
    }

    @Test func `a channel that registers after the claim is left for the catch-up`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        try await fixture.track(Self.name, count: 1)
        guard case .ok(.sending, true, let leftovers) = try await fixture.deliver(claim, targets: 1) else {
            throw Unexpected(what: "the catch-up was forgotten")
        }
        #expect(leftovers.catchUpWaits)
        #expect(try await fixture.store.sweeps.arrivals(fixture.app, name, after: -1, limit: 10).count == 1)
    }

    @Test func `what a late joiner's turn counted before the page stays counted`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, name), id)
        try await fixture.unpack(Self.name)
        try await fixture.store.redis.send(RedisCommand("HSET", record, "targets", "2", "delivered", "2"))
        _ = try await fixture.deliver(claim, targets: 1)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.targets == 3 && ledger.delivered == 3)
    }

    @Test func `an older lease of the same worker settles nothing`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let old = try await fixture.claimed(Self.name, id)
        #expect(try await fixture.store.sweeps.giveBack(old.lease))
        let new = try await fixture.claimed(Self.name, id)
        #expect(new.lease.owner == old.lease.owner)
        guard case .stale = try await fixture.deliver(old, targets: 5) else { throw Unexpected(what: "settled") }
        _ = try await fixture.deliver(new, targets: 5)
        #expect(try await fixture.ledger(id).targets == 5)
    }

    @Test func `a push that was cancelled during its only page does not become done`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        _ = try await fixture.store.pushes.cancel(fixture.app, id)
        guard case .ok(.cancelled, true, _) = try await fixture.deliver(claim, targets: 1) else {
            throw Unexpected(what: "not cancelled")
        }
        #expect(try await fixture.ledger(id).delivered == 1)
    }

    @Test func `the state of an update is kept for late joiners beside those for other audiences`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await swept(fixture, .all)
        #expect(try await kept(fixture) == [update])
        let newer = try await swept(fixture, .all)
        #expect(try await kept(fixture) == [newer])
        let some = try await swept(fixture, .tag("gold", group: "device"))
        #expect(try await kept(fixture) == [some, newer])
        let newest = try await swept(fixture, .all)
        #expect(try await kept(fixture).first == newest)
        let last = try await swept(fixture, .all)
        #expect(try await kept(fixture) == [last], "an update for everyone replaces all")
    }

    @Test func `what an update replaced is kept until the update is done, and by no push more`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await swept(fixture, .all)
        let second = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, second)
        #expect(try await before(fixture)?.contains("\(first)") == true)
        #expect(try await kept(fixture) == [second, first])
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await before(fixture) == nil)
        #expect(try await kept(fixture) == [second])
        // One that reached nobody leaves what it replaced to the next push.
        let third = try await fixture.accepted(Self.name)
        let cancelled = try await fixture.claimed(Self.name, third)
        _ = try await fixture.store.pushes.cancel(fixture.app, third)
        _ = try await fixture.deliver(cancelled, targets: 0)
        #expect(try await kept(fixture) == [second])
        let fourth = try await fixture.accepted(Self.name)
        let last = try await fixture.claimed(Self.name, fourth)
        #expect(try await kept(fixture) == [fourth, second])
        _ = try await fixture.deliver(last, targets: 1)
        #expect(try await before(fixture) == nil)
        #expect(try await kept(fixture) == [fourth])
    }

    @Test func `a state from longer ago than an activity lives is kept for nobody`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await swept(fixture, .all)
        let meta = try fixture.key(Keyspace.name, Self.name)
        let newest = try await fixture.store.redis.send(RedisCommand("HGET", meta, "newest")).string()
        let began = try #require(newest.split(separator: " ").last.flatMap { Int64($0) })
        let past = newest.dropLast(13) + "\(began - LateJoiners.life.milliseconds)"
        try await fixture.store.redis.send(RedisCommand("HSET", meta, "newest", .string(String(past))))
        #expect(try await kept(fixture).isEmpty)
        // Nor is it when a push for some begins, nor for a channel that asks for what it missed.
        let some = try await swept(fixture, .tag("gold", group: "device"))
        #expect(try await kept(fixture) == [some])
    }

    @Test func `a channel that asks for the state that it missed gets the newest`() async throws {
        let fixture = try await PushFixture.start()
        let asks = Registration(
            channel: .random(), token: try #require(PushToken(bytes: [7])), registeredAt: 1_795_000_000_000,
            wantsState: true)
        _ = try await swept(fixture, .all)
        #expect(try await fixture.store.registry.track(fixture.app, .activity(name), [asks]) == [.stored])
        let late = try await fixture.store.redis.send(
            RedisCommand("HLEN", fixture.key(Keyspace.lateJoiners, Self.name)))
        #expect(try late.integer() == 1)
    }

    /// A push as most are, and with what its publisher may ask for. Benchmarks/measurements.md tells of the commands.
    @Test(arguments: ["default", "alert", "low", "conflate"])
    func `a push to one token takes few commands`(kind: String) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        func sweep() async throws {
            let push = Publish(
                name: name, event: .update, audience: .all, priority: kind == "low" ? .low : .high,
                alert: kind == "alert" ? RawJSON(checked: #"{"title":"t"}"#) : nil,
                options: PublishOptions(conflate: kind != "conflate"))
            let id = fixture.store.pushes.freshIDs(fixture.app, count: 1)[0]
            _ = try await fixture.store.pushes.accept(
                fixture.app, push, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
                timestampOffset: 20)
            let begun = try await fixture.begin(Self.name, id, every: Self.interval)
            guard case (.claimed(let claim), id) = begun else { throw Unexpected(what: "not begun") }
            #expect(claim.tokens?.isNil == false, "the usual case")
            _ = try await fixture.deliver(claim, targets: 1)
        }
        for _ in 0..<2 {
            try await sweep()
            if kind != "alert", kind != "conflate" { try await fixture.letIntervalPass(Self.name, Self.interval) }
        }
        let redis = fixture.store.redis
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        try await sweep()
        let calls = try await redis.callsOfTheStore()
        // Besides, a worker reads, acknowledges and deletes its entry.
        let sum = calls.values.reduce(3, +)
        // On a cluster each push begins a set of the index, and sets its life.
        #expect(sum <= (redis.isCluster ? 25 : 24), "\(calls)")
    }

    /// `pacing.min_interval` as the default settings have it.
    private static let interval = Duration.seconds(1)

    private func swept(_ fixture: PushFixture, _ audience: Audience) async throws -> PushID {
        let id = try await fixture.accepted(Self.name, audience: audience)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 1)
        return id
    }

    /// What the name's newest push replaced, as the script keeps it until that push is done.
    private func before(_ fixture: PushFixture) async throws -> String? {
        let reply = try await fixture.store.redis.send(
            RedisCommand("HGET", fixture.key(Keyspace.name, Self.name), "before"))
        return reply.isNil ? nil : try reply.string()
    }

    private func kept(_ fixture: PushFixture) async throws -> [PushID] {
        try await fixture.store.lateJoiners.states(fixture.app, name).kept.map(\.id)
    }
}

extension TokenPage {
    /// In order, whatever the order of the page.
    var hexTokens: [String] { (0..<count).map { Hex.encode(token($0)) }.sorted() }
}
