import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

@Suite struct SweepTests {
    @Test func `a timestamp of zero stays a timestamp after a death`() throws {
        for since: Int64? in [nil, 0, -5, 1, 1_795_000_000_000] {
            let removal = TokenRemoval(channel: [1, 2], token: [3], deadSince: since, reason: "Unregistered")
            let pending = PendingRemoval(push: .random(), removal: removal)
            let read = try #require(PendingRemoval(field: pending.field[...], value: removal.storedValue[...]))
            #expect((read.removal.deadSince == nil) == (since == nil))
            #expect(read.removal.deadSince ?? 0 == max(since ?? 0, since == nil ? 0 : 1))
        }
    }

    @Test func `a pending removal keeps its platform, and that of APNs costs nothing`() throws {
        for code in 0...Platform.mostCode {
            let removal = TokenRemoval(
                channel: [1, 2], token: [3], deadSince: 0x0102_0304_0506, reason: "x", platform: Platform(code: code))
            let kind = UInt8(ascii: "d")
            #expect(removal.storedValue == [kind, code, 0, 1, 2, 3, 4, 5, 6, UInt8(ascii: "x")])
            let pending = PendingRemoval(push: .random(), removal: removal)
            #expect(PendingRemoval(field: pending.field[...], value: removal.storedValue[...]) == pending)
        }
    }

    /// While some phones are silent, each page of a large name has channels that wait. Timers would be set for each.
    @Test func `a page sets a timer for channels that begin to wait, and for queues that ended meanwhile`() throws {
        let now: Int64 = 1_795_000_000_000
        var page = Settlement(range: .start ..< .end)
        #expect(!page.needsTimer(first: now, now: now))
        page.joinQueue([1], mostAttempts: 0)
        #expect(!page.needsTimer(first: now + 5_000, now: now), "the one that the channel waits for has set it")
        #expect(page.needsTimer(first: now, now: now), "its queue ended, so this push is due")
        page.retry([2], due: now + 5_000, attempts: 1)
        #expect(page.needsTimer(first: now + 5_000, now: now))
    }

    /// Removing a large key at once would hold up Redis. UNLINK removes it in the background.
    @Test func `what a sweep leaves is unlinked`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", count: 1)
        _ = try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
        var page = Settlement(range: claim.lease.bounds)
        page.stop = "TopicDisallowed"
        guard case .ok(.failed, true, _) = try await fixture.settle(claim, page) else {
            throw Unexpected(what: "not stopped")
        }
        // The catch-up, and the push's tasks.
        #expect(try await fixture.store.redis.calls(of: "unlink") == 2)
        #expect(try await fixture.store.redis.calls(of: "del") == 0)
    }

    @Test func `a small push is claimed settled and done`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("order-1", count: 3)
        let id = try await fixture.accepted("order-1")
        let claim = try await fixture.claimed("order-1", id)
        #expect(claim.lease.part == .shard(index: 0, count: 1) && claim.position == .start && claim.ahead.isEmpty)
        #expect(try await fixture.ledger(id).state == .sending)
        let settled = try await fixture.deliver(claim, targets: 3)
        guard case .ok(.done, true, let leftovers) = settled else {
            Issue.record("\(settled)")
            return
        }
        #expect(leftovers == Leftovers(unswept: 0, firstRetry: nil, hasPendingRemovals: false))
        let ledger = try await fixture.ledger(id)
        #expect(ledger.expanded && ledger.targets == 3 && ledger.delivered == 3 && ledger.pending == 0)
        #expect(ledger.finishedAt != nil)
    }

    @Test func `a large push becomes shards that together are the whole`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 6_000)
        let id = try await fixture.accepted("match-1")
        guard case (.plan(let record, let parts), id) = try await fixture.begin("match-1", id) else {
            Issue.record("not planned")
            return
        }
        let shards = parts.count
        #expect(record.id == id && shards >= 2 && shards.nonzeroBitCount == 1)
        guard case (.plan(_, parts), _) = try await fixture.begin("match-1", id, owner: "w2") else {
            Issue.record("a planner that died must be repeated")
            return
        }
        try await fixture.store.sweeps.markPlanned(fixture.app, try ActivityName("match-1"), id)
        guard case (.planned, _) = try await fixture.begin("match-1", id) else {
            Issue.record("planned twice")
            return
        }
        var next = ScanPosition.start
        for index in 0..<shards {
            let claim = try await fixture.claimShard("match-1", id, index, shards)
            #expect(claim.lease.bounds.lowerBound == next)
            next = claim.lease.bounds.upperBound
            guard case .ok(let state, true, _) = try await fixture.deliver(claim, targets: 10) else {
                Issue.record("shard \(index) is not finished")
                return
            }
            #expect(state == (index == shards - 1 ? .done : .sending))
        }
        #expect(next == .end)
        #expect(try await fixture.ledger(id).delivered == 10 * shards)
    }

    @Test func `a name is swept by one push at a time`() async throws {
        let fixture = try await PushFixture.start()
        let first = try await fixture.accepted("match-1", alert: true)
        let second = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", second)
        #expect(claim.lease.push == first, "the older one goes first, whatever the entry says")
        guard case (.held, first) = try await fixture.begin("match-1", second, owner: "w2") else {
            Issue.record("a second sweep began")
            return
        }
        guard case .ok(.done, true, let leftovers) = try await fixture.deliver(claim, targets: 0) else {
            Issue.record("not done")
            return
        }
        #expect(leftovers.nameWaits)
        #expect(try await fixture.claimed("match-1", first).lease.push == second)
    }

    @Test func `only the latest epoch settles`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let old = try await fixture.claimed("match-1", id, owner: "suspended")
        #expect(try await fixture.store.sweeps.giveBack(old.lease))
        let new = try await fixture.claimed("match-1", id, owner: "other")
        guard case .stale = try await fixture.deliver(old, targets: 5) else {
            Issue.record("a stale lease settled")
            return
        }
        #expect(try await fixture.store.sweeps.renew(old.lease, for: .seconds(60)) == false)
        _ = try await fixture.deliver(new, targets: 5)
        #expect(try await fixture.ledger(id).targets == 5)
    }

    @Test func `pages settle in any order and the checkpoint says which`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        func page(_ from: UInt64, _ to: UInt64) async throws {
            var settlement = Settlement(range: .share(from) ..< .share(to))
            settlement.targets = 1
            settlement.count(.delivered)
            _ = try await fixture.settle(claim, settlement)
        }
        try await page(0, 100)
        try await page(300, 400)
        try await page(200, 300)
        // The answers to two settlements were lost: one page is ahead of the checkpoint, and one before it.
        try await page(300, 400)
        try await page(0, 100)
        #expect(try await fixture.ledger(id).targets == 3, "repeated pages count once")
        try await fixture.store.sweeps.giveBack(claim.lease)
        let resumed = try await fixture.claimed("match-1", id, owner: "w2")
        #expect(resumed.position == .share(100))
        #expect(resumed.ahead == [.share(200) ..< .share(400)])
    }

    @Test func `dead tokens are counted once, when their removal is confirmed`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        let prune = TokenRemoval(
            channel: [1, 2, 0, 255], token: [9, 0, 9], deadSince: 1_795_000_000_123, reason: "Unregistered")
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.count(error: "Unregistered")
        settlement.remove(prune)
        guard case .ok(.sending, true, _) = try await fixture.settle(claim, settlement) else {
            Issue.record("a push that owes a prune is not done")
            return
        }
        #expect(try await fixture.ledger(id).pending == 1)
        let pending = try await fixture.pendingRemovals("match-1")
        #expect(pending == [PendingRemoval(push: id, removal: prune)])
        for struck in [1, 0] {
            let (counted, _) = try await fixture.store.sweeps.confirm(
                fixture.app, claim.lease.name, pending.map { (pending: $0, as: .pruned) })
            #expect(counted[.ios]?.pruned ?? 0 == struck, "two workers may strike it: one of them counts it")
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.pruned == 1 && ledger.errors == ["Unregistered": 1])
    }

    @Test func `a push that stops early fails what waits and frees the name`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", alert: true)
        let next = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        var settlement = Settlement(range: .start ..< .share(10))
        settlement.targets = 2
        settlement.count(.failed)
        settlement.count(error: "BadTopic")
        settlement.retry([1], due: 5_000, attempts: 1)
        settlement.stop = "BadTopic"
        guard case .ok(.failed, false, _) = try await fixture.settle(claim, settlement) else {
            Issue.record("not stopped")
            return
        }
        _ = try await fixture.settle(claim, Settlement(range: claim.lease.bounds))
        let ledger = try await fixture.ledger(id)
        #expect(
            ledger.state == .failed && ledger.failed == 2 && ledger.pending == 0 && ledger.errors == ["BadTopic": 1])
        #expect(try await fixture.claimed("match-1", id).lease.push == next)
    }

    @Test func `cancelled in mid sweep the rest is skipped`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        let claim = try await fixture.claimed("match-1", id)
        var settlement = Settlement(range: .start ..< .share(10))
        settlement.targets = 2
        settlement.count(.delivered)
        settlement.retry([1], due: 5_000, attempts: 1)
        _ = try await fixture.settle(claim, settlement)
        let ledger = try await fixture.store.pushes.cancel(fixture.app, id, now: 1_795_000_005_000)
        #expect(ledger?.state == .cancelled && ledger?.delivered == 1 && ledger?.skipped == 1)
        guard case .ok(.cancelled, true, _) = try await fixture.settle(claim, Settlement(range: claim.lease.bounds))
        else {
            Issue.record("the sweep cannot end")
            return
        }
        guard case (.idle, _) = try await fixture.begin("match-1", id) else {
            Issue.record("the name is still taken")
            return
        }
    }
}

extension PushFixture {
    func claimShard(_ name: String, _ id: PushID, _ index: Int, _ count: Int) async throws -> Claim {
        try await claim(name, id, .shard(index: index, count: count))
    }

    func claim(_ name: String, _ id: PushID, _ part: WorkItem.Part) async throws -> Claim {
        let item = WorkItem(app: app, name: try ActivityName(name), push: id, priority: .high, part: part)
        let result = try await store.sweeps.claim(item, owner: "w1", lease: lease)
        guard case .claimed(let claim) = result else { throw Unexpected(what: "\(result)") }
        return claim
    }
}
