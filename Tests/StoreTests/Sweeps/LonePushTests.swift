import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// A name's only unswept push is kept in the name's hash. Nobody can tell it from one that has keys of its own.
@Suite struct LonePushTests {
    static let name = "order-1"
    let name = try! ActivityName(LonePushTests.name)

    private func isLone(_ fixture: PushFixture) async throws -> Bool {
        let meta = try fixture.key(Keyspace.name, Self.name)
        return try await fixture.store.redis.send(RedisCommand("HEXISTS", meta, "lone")).integer() == 1
    }

    private func record(_ fixture: PushFixture, _ id: PushID) async throws -> [String: String] {
        let fields = try await fixture.store.redis.pushFields(
            fixture.store.keys, [(fixture.store.keys.tag(fixture.app, name), id)])
        return Dictionary(uniqueKeysWithValues: fields[0].pairs)
    }

    @Test(arguments: ["- - - - - -", "1900000000000 0 1 1 1 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"])
    func `a worker reads of a lone push what its fields say`(rest: String) throws {
        let head = "\(PushID.random()) 7 1800000000 5 1900000000000 1800000000123 604800000"
        for publisher in ["", "shop 10.0.0.1"] {
            for isSent in [true, false] {
                let text = "\(head) \(rest)\n\(publisher)\n{\"aps\":{\n}}"
                let lone = try #require(LonePush(Array(text.utf8)[...], isSent: isSent))
                let (own, same) = (try PushRecord(lone), try PushRecord(id: lone.id, lone.fields))
                #expect(String(reflecting: own) == String(reflecting: same))
                #expect(own.sequence == 7 && own.priority == .low && lone.fields.text("by") ?? "" == publisher)
            }
        }
    }

    /// The publishes that become lone pushes, and one that does not.
    private static let publishes: [Publish] = {
        let name = try! ActivityName(LonePushTests.name)
        var told = Publish(name: name, event: .update, audience: .all)
        told.publisher = Publisher(credential: "shop", address: "10.0.0.1")
        told.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        return [
            Publish(name: name, event: .update, audience: .all), told,
            Publish(name: name, event: .update, audience: .all, priority: .low),
            Publish(
                name: name, event: .update, audience: .all, alert: RawJSON(checked: #"{"title":"t"}"#),
                options: PublishOptions(expiry: 1_795_000_600)),
            Publish(name: name, event: .update, audience: .all, options: PublishOptions(conflate: false, expiry: 0)),
        ]
    }()

    @Test(arguments: publishes.indices)
    func `its record is that of a push with keys of its own`(index: Int) async throws {
        let publish = Self.publishes[index]
        var found: [[String: String]] = []
        let ids = (0..<2).map { PushID.ordered(at: 1_795_000_000_000, index: $0) }
        let events = EventPolicy(keep: 1_000)
        for isAlone in [true, false] {
            let fixture = try await PushFixture.start(events: events)
            for id in ids {
                func accept() async throws {
                    _ = try await fixture.store.pushes.accept(
                        fixture.app, publish, id: id,
                        payload: Array("{\"aps\":{\"timestamp\":0000000000},\n\"x\":\"\u{e9} \\n\"}".utf8),
                        timestampOffset: 20, now: 1_795_000_000_000)
                }
                if isAlone { try await accept() } else { try await fixture.withOwnKeys(Self.name, accept) }
                #expect(try await isLone(fixture) == isAlone)
                let content = try #require(try await fixture.store.pushes.content(fixture.app, id))
                #expect(String(decoding: content.payload, as: UTF8.self).hasPrefix(#"{"aps":{"timestamp":1795000000}"#))
                let waiting = try await fixture.ledger(id)
                #expect(waiting.state == .queued && waiting.publisher == publish.publisher)
                let claim = try await fixture.claimed(Self.name, id)
                #expect(claim.record.payload == content.payload && claim.record.state == .sending)
                #expect(claim.record.isSupersedable == publish.isSupersedable)
                #expect(claim.record.traceparent == publish.traceparent)
                #expect(try await fixture.ledger(id).state == .sending)
                _ = try await fixture.deliver(claim, targets: 1)
                var record = try await record(fixture, id)
                record["finished"] = nil
                found.append(record)
            }
        }
        #expect(found[0] == found[2] && found[1] == found[3] && found[1]["prev"] == ids[0].description)
    }

    /// Whatever happens to it beside the usual gives it keys of its own, with the same fields.
    @Test(arguments: [false, true])
    func `it is unpacked without a change`(isSent: Bool) async throws {
        var found: [[[String: String]]] = []
        let id = PushID.ordered(at: 1_795_000_000_000, index: 0)
        for isAlone in [true, false] {
            let fixture = try await PushFixture.start()
            func accept() async throws { _ = try await fixture.publish(Self.name, id: id) }
            if isAlone { try await accept() } else { try await fixture.withOwnKeys(Self.name, accept) }
            if isSent { _ = try await fixture.claimed(Self.name, id) }
            try await fixture.unpack(Self.name)
            #expect(try await !isLone(fixture))
            let keys = fixture.store.keys
            let tag = keys.tag(fixture.app, name)
            var hashes: [[String: String]] = []
            for key in [keys.push(tag, id), keys.name(tag), keys.tasks(tag, id)] {
                let life = try await fixture.store.redis.send(RedisCommand("PTTL", key)).integer()
                var pairs = Dictionary(uniqueKeysWithValues: try await fixture.store.redis.hash(key).pairs)
                #expect(pairs.isEmpty || life > 6 * 86_400_000, "\(key)")
                for times in ["0/1:d", "newest", "kept", "woken"] { pairs[times] = nil }
                hashes.append(pairs)
            }
            let unswept = try await fixture.store.redis.send(RedisCommand("ZRANGE", keys.unswept(tag), "0", "-1"))
            #expect(try unswept.array().map { try $0.string() } == [id.description])
            found.append(hashes)
        }
        #expect(found[0] == found[1])
    }

    @Test func `questions find it while it waits and while it is sent`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let first = try await fixture.accepted(Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, first), targets: 1)
        let id = try await fixture.accepted(Self.name)
        func ask(_ state: PushState) async throws {
            let filter = PushFilter()
            let pages: [(PushID?, [PushID])] = [(nil, [id, first]), (id, [first])]
            for (last, expected) in pages {
                let page = try await store.pushes.history(app, of: name, filter, after: last, limit: 10)
                #expect(page.pushes.map(\.id) == expected)
            }
            #expect(try await store.pushes.present(app, name).state?.ledger.id == id)
            let underWay = try await store.queue.underWay([app], limit: 10)
            #expect(underWay.map(\.id) == [id] && underWay.first?.isWaiting == (state == .queued))
            #expect(try await store.queue.firstUnswept(app, name)?.push == id)
            #expect(try await store.sweeps.leftovers(app, name).nameWaits)
            #expect(try await store.sweeps.isOverdue(app, name, now: .max))
            #expect(try await !store.sweeps.isOverdue(app, name, now: 1_795_000_000_000))
            let states = try await store.lateJoiners.states(app, name)
            #expect(states.notBegun.map(\.id) == (state == .queued ? [id] : []))
            // The state before it stays until it is done.
            #expect(states.kept.map(\.id) == (state == .queued ? [first] : [id, first]))
            #expect(try await fixture.ledger(id).state == state)
            #expect(try await isLone(fixture), "a question changes nothing")
        }
        try await ask(.queued)
        let claim = try await fixture.claimed(Self.name, id)
        try await ask(.sending)
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await store.lateJoiners.states(app, name).kept.map(\.id) == [id])
    }

    @Test func `the same id gets the same answer at each stage`() async throws {
        let fixture = try await PushFixture.start()
        let id = PushID.ordered(at: 1_795_000_000_000, index: 0)
        let first = try await fixture.publish(Self.name, id: id)
        #expect(try await fixture.publish(Self.name, id: id) == first)
        let other = try await PushFixture.start()
        let accepted = try await other.publish(Self.name, id: id)
        let claim = try await other.claimed(Self.name, id)
        #expect(try await other.publish(Self.name, id: id) == accepted)
        _ = try await other.deliver(claim, targets: 1)
        #expect(try await other.publish(Self.name, id: id) == accepted)
        #expect(try await other.ledger(id).delivered == 1)
    }

    @Test func `a newer push supersedes it while it waits, and waits for it while it is sent`() async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted(Self.name)
        let new = try await fixture.accepted(Self.name)
        #expect(try await fixture.ledger(old).supersededBy == new)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, new), targets: 1)
        let sent = try await fixture.accepted(Self.name)
        #expect(try await isLone(fixture))
        let claim = try await fixture.claimed(Self.name, sent)
        let next = try await fixture.accepted(Self.name)
        #expect(try await fixture.begin(Self.name, next).push == sent)
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await fixture.ledger(sent).delivered == 1)
        #expect(try await fixture.claimed(Self.name, next).lease.push == next)
    }

    @Test func `its lease is renewed, given back and taken as any other`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        guard case .held = try await fixture.begin(Self.name, id, owner: "w2").begun else {
            throw Unexpected(what: "two workers have it")
        }
        #expect(try await fixture.store.sweeps.renew(claim.lease, for: .seconds(60)))
        #expect(try await fixture.store.sweeps.giveBack(claim.lease))
        let next = try await fixture.claimed(Self.name, id, owner: "w2")
        #expect(next.lease.epoch == 2)
        guard case .stale = try await fixture.deliver(claim, targets: 7) else { throw Unexpected(what: "settled") }
        _ = try await fixture.deliver(next, targets: 1)
        #expect(try await fixture.ledger(id).targets == 1)
    }

    @Test func `a lease of another owner or epoch settles nothing`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        for (owner, epoch) in [("w2", 1), ("w1", 2)] {
            let lease = Lease(
                app: fixture.app, name: name, push: id, part: claim.lease.part, owner: owner, epoch: epoch)
            var settlement = Settlement(range: lease.bounds)
            settlement.targets = 3
            guard case .stale = try await fixture.store.sweeps.settle(lease, for: fixture.lease, settlement) else {
                throw Unexpected(what: "settled")
            }
        }
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await fixture.ledger(id).targets == 1)
    }

    @Test func `it is cancelled while it waits and while it is sent`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await fixture.accepted(Self.name)
        #expect(try await fixture.store.pushes.cancel(fixture.app, waiting)?.state == .cancelled)
        guard case .idle = try await fixture.begin(Self.name, waiting).begun else { throw Unexpected(what: "begun") }
        let sent = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, sent)
        #expect(try await fixture.store.pushes.cancel(fixture.app, sent)?.state == .cancelled)
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await fixture.ledger(sent).delivered == 1)
    }

    /// A device may tell before the worker has settled the page.
    @Test func `a receipt that comes early is counted`() async throws {
        let fixture = try await PushFixture.start()
        let now = try await fixture.redisTime()
        let id = try await fixture.push(name: Self.name, now: now)
        let claim = try await fixture.claimed(Self.name, id)
        let tally = try await fixture.store.receipts.count(
            fixture.app, [Receipt(push: id, event: .shown, channel: .random())], now: now)
        #expect(tally.accepted == 1)
        _ = try await fixture.deliver(claim, targets: 1)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.receipts == [.shown: 1] && ledger.delivered == 1)
    }

    @Test func `a late joiner gets it while it is sent`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, fixture.accepted(Self.name)), targets: 0)
        let asks = Registration(
            channel: .random(), token: try #require(PushToken(bytes: [7])), registeredAt: 1_795_000_000_000,
            wantsState: true)
        #expect(try await store.registry.track(app, .activity(name), [asks]) == [.stored])
        let id = try await fixture.accepted(Self.name)
        let claim = try await fixture.claimed(Self.name, id)
        #expect(try await isLone(fixture))
        let states = try await store.lateJoiners.states(app, name)
        let newest = try #require(states.kept.first)
        #expect(newest.id == id)
        let put = Mutex(0)
        try await store.lateJoiners.each(app, name) { joiners throws(StoreError) in
            let decisions = joiners.map { ($0, LateDecision.put(id)) }
            let settled = try await store.lateJoiners.settle(app, name, states, decisions)
            put.withLock { $0 += settled?.put ?? 0 }
        }
        #expect(put.withLock { $0 } == 1)
        _ = try await fixture.deliver(claim, targets: 1)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 2 && ledger.late == 1 && ledger.pending == 1)
    }

    @Test func `an older push that waits again goes first`() async throws {
        let fixture = try await PushFixture.start()
        let (old, lone) = (try await fixture.accepted(Self.name, audience: .channel(.random())), PushID.random())
        _ = try await fixture.store.pushes.cancel(fixture.app, old)
        _ = try await fixture.publish(Self.name, id: lone)
        #expect(try await isLone(fixture))
        // As a dead letter that is retried puts it back.
        try await fixture.store.redis.send(
            RedisCommand("ZADD", fixture.key(Keyspace.unswept, Self.name), "1", .string(old.description)))
        #expect(try await fixture.begin(Self.name, lone).push == old)
    }

    @Test func `an update that comes within the interval waits, and stays lone`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.accepted(Self.name)
        guard case .claimed(let claim) = try await fixture.begin(Self.name, first, every: .seconds(60)).begun else {
            throw Unexpected(what: "not begun")
        }
        _ = try await fixture.deliver(claim, targets: 1)
        // One whose deadline is near would begin at once.
        let second = try await fixture.push(name: Self.name, now: fixture.redisTime())
        for _ in 0..<2 {
            let (begun, push) = try await fixture.begin(Self.name, second, every: .seconds(60))
            guard case .paced(let left) = begun else { throw Unexpected(what: "\(begun)") }
            #expect(push == second && left > .zero && left <= .seconds(60))
        }
        #expect(try await isLone(fixture))
        try await fixture.letIntervalPass(Self.name, .seconds(60))
        #expect(try await fixture.claimed(Self.name, second).lease.push == second)
    }

    /// Those for another audience, with a state of their own, or traced have a rule each.
    @Test func `a push that is more than an update for everyone has keys of its own`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.accepted(Self.name, audience: .tag("gold", group: "device"))
        #expect(try await !isLone(fixture))
        _ = try await fixture.accepted(Self.name, event: .end)
        #expect(try await !isLone(fixture))
    }

    @Test func `the reconciler wakes a worker for one whose entry is lost`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted(Self.name)
        #expect(try await isLone(fixture))
        let stream = fixture.store.keys.stream(fixture.app, .namesHigh, try fixture.partition(Self.name))
        try await fixture.store.redis.send(RedisCommand("DEL", stream))
        let now = try await fixture.redisTime() + 60_000
        let found = try await fixture.store.queue.reconcile([fixture.app], paused: [], before: now, now: now, limit: 10)
        #expect(found.woken == 1)
        #expect(try await fixture.claimed(Self.name, id).lease.push == id)
    }

}
