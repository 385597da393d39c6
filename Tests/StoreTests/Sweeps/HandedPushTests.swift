import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// An acceptance begins a small name's only push, and hands it to the worker that reads its entry. Until that worker
/// reads the entry, nobody can tell the push from one that waits. In a cluster no acceptance begins a push.
@Suite(.enabled(if: !RedisServer.isCluster)) struct HandedPushTests {
    static let name = "order-1"
    let name = try! ActivityName(HandedPushTests.name)

    /// Accepts an update as a gateway does.
    @discardableResult
    func publish(
        _ fixture: PushFixture, audience: Audience = .all, priority: PushPriority = .high, supersedes: Bool = true,
        every interval: Duration = .zero, lease: Duration = .seconds(600), budget: Int = 0, now: Int64? = nil
    ) async throws -> PushID {
        let publish = Publish(
            name: name, event: .update, audience: audience, priority: priority,
            options: PublishOptions(conflate: supersedes))
        let id = PushID.ordered(at: try await fixture.redisTime(), index: 0)
        let acceptance = try await fixture.store.pushes.accept(
            fixture.app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
            timestampOffset: 20,
            handing: Handing(minInterval: interval, lease: lease, budget: HighBudget(perHour: budget)), now: now)
        guard case .accepted = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    func start(tokens: Int = 2, events: EventPolicy? = nil) async throws -> (PushFixture, [Registration]) {
        let fixture = try await PushFixture.start(events: events)
        try await fixture.store.queue.prepare([fixture.app])
        let registrations = try (0..<tokens).map { _ in try registration() }
        _ = try await fixture.store.registry.track(fixture.app, .activity(name), registrations)
        return (fixture, registrations)
    }

    private func registration(_ channel: ChannelID = .random(), at time: Int64 = 1_795_000_000_000) throws
        -> Registration
    {
        Registration(
            channel: channel, token: try PushToken(hex: Hex.encode(UUIDBytes.random().bytes)), registeredAt: time)
    }

    private func meta(_ fixture: PushFixture, _ fields: [String]) async throws -> [String: String] {
        let key = try fixture.key(Keyspace.name, Self.name)
        let all = try await fixture.store.redis.hash(key)
        return Dictionary(uniqueKeysWithValues: all.pairs.filter { fields.isEmpty || fields.contains($0.0) })
    }

    func isHanded(_ fixture: PushFixture) async throws -> Bool {
        try await meta(fixture, ["handed"]).count == 1
    }

    /// Whether the reconciler knows the name.
    private func isOpen(_ fixture: PushFixture) async throws -> Bool {
        let open = fixture.store.keys.open(fixture.app, try fixture.partition(Self.name))
        return try await !fixture.store.redis.send(RedisCommand("ZSCORE", open, .string(Self.name))).isNil
    }

    /// The entries of the name's stream that no worker has read.
    private func read(_ fixture: PushFixture, as consumer: String = "w1") async throws -> [WorkEntry] {
        let reader = try fixture.reader(Self.name)
        defer { reader.close() }
        return try await reader.read(
            .namesHigh, [fixture.app], consumer: consumer, count: 10, block: .milliseconds(50)
        ).entries
    }

    private func handed(_ fixture: PushFixture) async throws -> Claim {
        let entry = try #require(try await read(fixture).first)
        return try fixture.store.sweeps.claim(try #require(entry.handed), of: entry)
    }

    @Test func `its entry has the push and the tokens, and its worker settles it`() async throws {
        let (fixture, registrations) = try await start(tokens: 3)
        let id = try await publish(fixture)
        #expect(try await isHanded(fixture))
        #expect(try await fixture.ledger(id).state == .queued, "no worker has read the entry")
        let entries = try await read(fixture)
        #expect(entries.map(\.item.push) == [id])
        let handed = try #require(entries.first?.handed)
        #expect(try await fixture.ledger(id).state == .sending)
        let claim = try fixture.store.sweeps.claim(handed, of: entries[0])
        #expect(claim.record.id == id && claim.record.state == .sending && !claim.hasPendingRemovals)
        #expect(claim.record.payload == (try await fixture.store.pushes.content(fixture.app, id))?.payload)
        let page = try #require(try fixture.store.tokens.readByBegin(claim)).page
        #expect(Set(page.hexTokens) == Set(registrations.map { Hex.encode($0.token.bytes) }))
        guard case .ok(.done, true, _) = try await fixture.deliver(claim, targets: 3) else {
            throw Unexpected(what: "it is not done")
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.delivered == 3)
        #expect(try await meta(fixture, ["lone", "sent", "handed", "before"]).isEmpty)
        guard case .stale = try await fixture.deliver(claim, targets: 3) else {
            throw Unexpected(what: "it is settled twice")
        }
    }

    enum Change: CaseIterable {
        case untracks, prunes, forgets, registers, joins, rotates, publishes, cancels, begins, renews
    }

    private func make(_ change: Change, _ fixture: PushFixture, _ id: PushID, _ known: Registration) async throws {
        let (store, app) = (fixture.store, fixture.app)
        switch change {
        case .untracks:
            let untrack = Untrack(channel: known.channel, removedAt: 1_795_000_001_000)
            try await store.registry.untrack(app, .activity(name), [untrack])
        case .prunes:
            let dead = TokenRemoval(channel: known.channel.stored, token: known.token.bytes, deadSince: nil)
            #expect(try await store.registry.prune(app, .activity(name), [dead]) == [.pruned])
        case .forgets:
            _ = try await store.registry.forget(
                app, .activity(name), known.channel.stored, before: 1_795_000_001_000)
        case .registers: _ = try await store.registry.track(app, .activity(name), [try registration()])
        case .joins:
            let crowd = [try registration(), try registration()]
            _ = try await store.registry.track(app, .activity(name), crowd)
        case .rotates:
            let next = try registration(known.channel, at: 1_795_000_001_000)
            _ = try await store.registry.track(app, .activity(name), [next])
        case .publishes: try await publish(fixture)
        case .cancels: _ = try await store.pushes.cancel(app, id)
        case .begins: _ = try await fixture.begin(Self.name, id, owner: "w2")
        case .renews: try await fixture.unpack(Self.name)
        }
    }

    /// Nothing that is refused goes out, and nobody is left out: whoever changes what the entry says takes it back.
    @Test(arguments: Change.allCases)
    func `what changes before a worker reads the entry counts`(change: Change) async throws {
        let (fixture, known) = try await start()
        let before = try await publish(fixture)
        _ = try await fixture.deliver(try await handed(fixture), targets: 2)
        let old = try await meta(fixture, ["begun", "begun_id", "newest", "before", "paced"])
        let id = try await publish(fixture)
        #expect(try await meta(fixture, ["begun_id"]) == ["begun_id": id.description])
        try await make(change, fixture, id, known[0])
        #expect(try await !isHanded(fixture))
        if change != .begins {
            let now = try await meta(fixture, ["begun", "begun_id", "newest", "before", "paced"])
            #expect(now == old && old["begun_id"] == before.description, "it has not begun")
        }
        let entries = try await read(fixture)
        #expect(entries.allSatisfy { $0.handed == nil } && entries.contains { $0.item.push == id })
        switch change {
        case .cancels: #expect(try await fixture.ledger(id).state == .cancelled)
        case .publishes: #expect(try await fixture.ledger(id).state == .superseded)
        case .begins: #expect(try await fixture.ledger(id).state == .sending)
        case .untracks, .prunes, .forgets, .registers, .joins, .rotates, .renews:
            #expect(try await fixture.ledger(id).state == .queued)
            let claim = try await fixture.claimed(Self.name, id)
            let (page, _, _) = try await fixture.store.tokens.markedPage(
                fixture.app, .activity(name), from: .start, to: .end, limit: 100)
            let counts: [Change: Int] = [.registers: 3, .joins: 4, .rotates: 2, .renews: 2]
            #expect(page.count == counts[change] ?? 1)
            _ = try await fixture.deliver(claim, targets: page.count)
            #expect(try await fixture.ledger(id).delivered == page.count)
        }
    }

    /// Once a worker has the entry, the push has begun, as if that worker had asked.
    @Test(arguments: Change.allCases)
    func `a worker that has read the entry keeps its push`(change: Change) async throws {
        let (fixture, known) = try await start()
        let id = try await publish(fixture)
        let claim = try await handed(fixture)
        try await make(change, fixture, id, known[0])
        #expect(try await !isHanded(fixture))
        #expect(try await meta(fixture, ["begun_id"]) == ["begun_id": id.description])
        #expect(try await fixture.ledger(id).state == (change == .cancels ? .cancelled : .sending))
        guard case .ok = try await fixture.deliver(claim, targets: 2) else { throw Unexpected(what: "it is stale") }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.delivered == 2)
        let leftovers = try await fixture.store.sweeps.leftovers(fixture.app, name)
        let wait: [Change] = [.publishes, .registers, .joins, .rotates]
        #expect(leftovers.nameWaits == wait.contains(change))
    }

    @Test func `a second push within the name's interval waits for it`() async throws {
        let (fixture, _) = try await start()
        try await publish(fixture, every: .seconds(3_600))
        #expect(try await isHanded(fixture))
        _ = try await fixture.deliver(try await handed(fixture), targets: 2)
        let second = try await publish(fixture, every: .seconds(3_600))
        #expect(try await !isHanded(fixture))
        guard case .paced = try await fixture.begin(Self.name, second, every: .seconds(3_600)).begun else {
            throw Unexpected(what: "it does not wait")
        }
    }

    @Test func `an acceptance leaves to a worker what is not the usual case`() async throws {
        let marks: [(Keyspace) -> (String) -> RedisKey] = [
            Keyspace.retryQueues, Keyspace.quarantine, Keyspace.otherEnvironment, Keyspace.pendingRemovals,
            Keyspace.broadcast, Keyspace.contentStates, Keyspace.lateJoiners,
        ]
        for key in marks {
            let (fixture, _) = try await start()
            try await fixture.store.redis.send(RedisCommand("HSET", try fixture.key(key, Self.name), "field", "value"))
            try await publish(fixture)
            #expect(try await !isHanded(fixture))
        }
        let sets: [(Keyspace) -> (String) -> RedisKey] = [
            Keyspace.catchUp, Keyspace.newFollowers, Keyspace.broadcastQueue,
        ]
        for key in sets {
            let (fixture, _) = try await start()
            try await fixture.store.redis.send(RedisCommand("ZADD", try fixture.key(key, Self.name), "1", "channel"))
            try await publish(fixture)
            #expect(try await !isHanded(fixture))
        }
        // Its end would take the name from the reconciler, which has to find this event.
        let (told, _) = try await start()
        try await told.store.redis.send(RedisCommand("RPUSH", try told.key(Keyspace.outbox, Self.name), "event"))
        try await publish(told)
        #expect(try await !isHanded(told))
        for tokens in [17, 400] {
            let (fixture, _) = try await start(tokens: tokens)
            try await publish(fixture)
            #expect(try await !isHanded(fixture), "\(tokens)")
        }
        let (fixture, _) = try await start(tokens: 16)
        try await publish(fixture, budget: 1)
        #expect(try await !isHanded(fixture), "its priority is counted")
        _ = try await fixture.store.pushes.cancel(fixture.app, try #require(try await read(fixture).first).item.push)
        try await publish(fixture, now: try await fixture.redisTime())
        #expect(try await !isHanded(fixture), "its time is another one")
        // The push before it waits, and then is under way.
        try await publish(fixture)
        #expect(try await !isHanded(fixture))
    }

    @Test func `a push before it that is not done is kept for late joiners`() async throws {
        let (fixture, _) = try await start()
        let first = try await publish(fixture)
        _ = try await fixture.deliver(try await handed(fixture), targets: 2)
        let second = try await publish(fixture)
        let states = try await meta(fixture, ["newest", "before"])
        #expect(states["newest"]?.contains(second.description) == true)
        #expect(states["before"]?.contains(first.description) == true)
    }

    @Test func `a worker that does not send it now gives it back`() async throws {
        let (fixture, _) = try await start()
        let id = try await publish(fixture, every: .seconds(3_600))
        let entry = try #require(try await read(fixture).first)
        try await fixture.store.sweeps.giveBack(handed: entry)
        #expect(try await meta(fixture, ["handed", "begun", "begun_id", "newest", "paced"]).isEmpty)
        #expect(try await fixture.ledger(id).state == .queued)
        // The name's interval has not begun.
        let (begun, push) = try await fixture.begin(Self.name, id, every: .seconds(3_600))
        #expect(begun.isClaimed && push == id)
        try await fixture.store.sweeps.giveBack(handed: entry)
        #expect(try await fixture.ledger(id).state == .sending, "another worker has it")
    }

    @Test func `an entry gives its own push back, and no later one`() async throws {
        let (fixture, _) = try await start()
        try await publish(fixture)
        let entry = try #require(try await read(fixture).first)
        let claim = try fixture.store.sweeps.claim(try #require(entry.handed), of: entry)
        _ = try await fixture.deliver(claim, targets: 2)
        try await publish(fixture)
        try await fixture.store.sweeps.giveBack(handed: entry)
        #expect(try await isHanded(fixture))
    }

    @Test func `an entry that is acknowledged hands nothing any more`() async throws {
        let (fixture, _) = try await start()
        let id = try await publish(fixture)
        try await fixture.store.queue.acknowledge([try #require(try await read(fixture).first).place])
        #expect(try await fixture.claimed(Self.name, id).lease.epoch == 1)
    }

    @Test func `the entry of a worker that died is claimed, and its late settlement is refused`() async throws {
        let (fixture, _) = try await start()
        let id = try await publish(fixture, lease: .milliseconds(1))
        let late = try await handed(fixture)
        let time = try await fixture.redisTime()
        try await eventually("the lease is over") { try await fixture.redisTime() > time + 2 }
        let (claimed, _) = try await fixture.store.queue.claim(
            .namesHigh, fixture.app, consumer: "w2", idle: .zero, count: 10)
        #expect(claimed.map(\.item.push) == [id] && claimed.first?.handed == nil)
        let claim = try await fixture.claimed(Self.name, id, owner: "w2")
        #expect(claim.lease.epoch == 2 && claim.hasPendingRemovals)
        guard case .stale = try await fixture.deliver(late, targets: 2) else {
            throw Unexpected(what: "a lost lease settles")
        }
        _ = try await fixture.deliver(claim, targets: 2)
        #expect(try await fixture.ledger(id).delivered == 2)
    }

    @Test func `while the lease of the first worker lasts, nobody else begins`() async throws {
        let (fixture, _) = try await start()
        let id = try await publish(fixture)
        let claim = try await handed(fixture)
        guard case .held = try await fixture.begin(Self.name, id, owner: "w2").begun else {
            throw Unexpected(what: "two workers have it")
        }
        #expect(try await fixture.store.sweeps.renew(claim.lease, for: .seconds(10)))
        guard case .ok = try await fixture.deliver(claim, targets: 2) else { throw Unexpected(what: "it is stale") }
    }

    @Test func `a push to one token takes few commands`() async throws {
        let (fixture, _) = try await start(tokens: 1)
        func sweep() async throws {
            try await publish(fixture)
            let entry = try #require(try await read(fixture).first)
            _ = try await fixture.deliver(
                try fixture.store.sweeps.claim(try #require(entry.handed), of: entry), targets: 1)
            try await fixture.store.queue.acknowledge([entry.place])
        }
        for _ in 0..<2 { try await sweep() }
        let redis = fixture.store.redis
        _ = try await redis.everywhere("CONFIG", "RESETSTAT")
        try await sweep()
        var calls = try await redis.callsOfTheStore()
        // The test itself asks for the time.
        calls["time"] = (calls["time"] ?? 0) - 1
        #expect(calls.values.reduce(0, +) <= 19, "\(calls)")
    }

    // MARK: The reconciler

    @Test func `its name is among those with work until it is settled`() async throws {
        let (fixture, _) = try await start()
        try await publish(fixture)
        #expect(try await isOpen(fixture), "its entry may be lost")
        let claim = try await handed(fixture)
        #expect(try await isOpen(fixture), "its worker may die")
        _ = try await fixture.deliver(claim, targets: 2)
        #expect(try await !isOpen(fixture))
        // The name of a push that is not handed may have other work, so the reconciler looks.
        let second = try await publish(fixture, budget: 1)
        #expect(try await !isHanded(fixture))
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, second), targets: 2)
        #expect(try await isOpen(fixture))
    }

    @Test func `its name stays there for the event that tells of its end`() async throws {
        let (fixture, _) = try await start(events: EventPolicy(keep: 1_000))
        try await publish(fixture)
        _ = try await fixture.deliver(try await handed(fixture), targets: 2)
        #expect(try await isOpen(fixture), "the worker may die before it empties the outbox")
    }

    @Test func `the reconciler wakes a worker for one whose stream is lost`() async throws {
        let (fixture, _) = try await start()
        let id = try await publish(fixture)
        let stream = fixture.store.keys.stream(fixture.app, .namesHigh, try fixture.partition(Self.name))
        try await fixture.store.redis.send(RedisCommand("DEL", stream))
        try await fixture.store.queue.prepare([fixture.app])
        let now = try await fixture.redisTime() + 60_000
        let found = try await fixture.store.queue.reconcile([fixture.app], before: now, now: now, limit: 10)
        #expect(found.woken == 1)
        let entries = try await read(fixture)
        #expect(entries.map(\.item.push) == [id] && entries.allSatisfy { $0.handed == nil })
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, id), targets: 2)
        #expect(try await fixture.ledger(id).delivered == 2)
    }

    /// Before, during and after the settlement: the name has work as long as the second push is not settled.
    @Test func `a push that comes while another is settled keeps the name there`() async throws {
        let (fixture, _) = try await start()
        for round in 0..<30 {
            try await publish(fixture)
            let claim = try await handed(fixture)
            if round == 0 { try await publish(fixture) }
            async let settled = fixture.deliver(claim, targets: 2)
            async let second = publish(fixture)
            let (_, id) = try await (settled, second)
            #expect(try await isOpen(fixture))
            let other = try await fixture.claimed(Self.name, id)
            _ = try await fixture.deliver(other, targets: 2)
            // The entry that is left in the stream finds nothing to do.
            _ = try await read(fixture)
        }
    }

    /// Times are Redis's, whatever the clocks of the machines say.
    @Test func `an old entry is not believed, nor one whose time lies ahead`() async throws {
        let (fixture, _) = try await start()
        try await publish(fixture, lease: .seconds(10))
        let entry = try #require(try await read(fixture).first)
        let handed = try #require(entry.handed)
        let time = try #require(entry.place.id.split(separator: "-").first.flatMap { Int64($0) })
        let left = [-101, -100, 0, 1_000, 1_001].map { handed.left(entry: entry.place.id, now: time + $0) }
        #expect(left == [nil, 9_000, 9_000, 8_000, nil])
        #expect(abs(try await fixture.redisTime() - time) < 60_000)
    }
}
