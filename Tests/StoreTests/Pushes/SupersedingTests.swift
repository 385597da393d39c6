import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Tests which pushes supersede an older one: in the queue of a name, in the retry queue of a channel, and in
/// the broadcast queue.
@Suite struct SupersedingTests {
    private static let channel: [UInt8] = [1, 2]
    private static let now: Int64 = 1_795_000_000_000

    @Test func `an end without a state supersedes nothing that waits`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let end = try await fixture.push(.end, state: false)
        #expect(try await fixture.ledger(update).state == .queued)
        let claim = try await fixture.claimed("match-1")
        #expect(claim.lease.push == update, "the update goes out before the end")
        _ = try await fixture.deliver(claim, targets: 1)
        #expect(try await fixture.claimed("match-1").lease.push == end)
    }

    @Test func `an end with a state supersedes the update that waits`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let end = try await fixture.push(.end)
        #expect(try await fixture.ledger(update).supersededBy == end)
    }

    @Test func `a push after an end without a state supersedes nothing before it`() async throws {
        let fixture = try await PushFixture.start()
        let before = try await fixture.push()
        _ = try await fixture.push(.end, state: false, audience: .tag("vip", group: "device"))
        let after = try await fixture.push()
        let last = try await fixture.push()
        #expect(try await fixture.ledger(before).state == .queued, "the cards that end show it")
        #expect(try await fixture.ledger(after).supersededBy == last)
    }

    @Test(arguments: [Int64(-60), 60, 0])
    func `a push that lives less long supersedes nothing`(seconds: Int64) async throws {
        let fixture = try await PushFixture.start()
        let lasting = try await fixture.push()
        let expiry = seconds == 0 ? 0 : Int(Self.now / 1_000 + seconds)
        let short = try await fixture.push(expiry: expiry)
        #expect(try await fixture.ledger(lasting).state == .queued)
        let next = try await fixture.push(expiry: expiry)
        #expect(try await fixture.ledger(short).supersededBy == next, "they live equally long")
        let newest = try await fixture.push()
        #expect(try await fixture.ledger(lasting).supersededBy == newest)
        #expect(try await fixture.ledger(next).supersededBy == newest)
    }

    @Test func `a push that does not go to silent phones supersedes no update that does`() async throws {
        let fixture = try await PushFixture.start()
        let all = try await fixture.push(reachesSilent: true)
        let optedIn = try await fixture.push(reachesSilent: false)
        let ios = try await fixture.push()
        #expect(try await fixture.ledger(all).state == .queued)
        #expect(try await fixture.ledger(optedIn).supersededBy == ios)
        let newest = try await fixture.push(reachesSilent: true)
        #expect(try await fixture.ledger(all).supersededBy == newest)
        #expect(try await fixture.ledger(ios).supersededBy == newest)
    }

    @Test(arguments: [true, false])
    func `an update for silent phones too stays in a retry queue before a push that is not`(next: Bool) async throws {
        let fixture = try await PushFixture.start()
        let all = try await fixture.push(reachesSilent: true)
        try await fixture.retry(try await fixture.claimed("match-1", all), [Self.channel], due: 5_000)
        let newer = try await fixture.push(reachesSilent: next)
        try await fixture.joinQueues(try await fixture.claimed("match-1", newer), [Self.channel])
        #expect(try await fixture.sent() == (next ? [newer] : [all, newer]))
    }

    @Test func `a payload for the broadcast channel alone supersedes no update for tokens`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let large = try await fixture.push(size: 4_097)
        #expect(try await fixture.ledger(update).state == .queued)
        let next = try await fixture.push(size: 4_096)
        #expect(try await fixture.ledger(update).supersededBy == next)
        #expect(try await fixture.ledger(large).supersededBy == next)
    }

    @Test func `an end without a state joins a retry queue behind the update`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        try await fixture.retry(try await fixture.claimed("match-1", update), [Self.channel], due: 5_000)
        let end = try await fixture.push(.end, state: false)
        try await fixture.joinQueues(try await fixture.claimed("match-1", end), [Self.channel])
        #expect(try await fixture.sent() == [update, end])
        #expect(try await fixture.ledger(update).delivered == 1)
    }

    @Test func `a push that lives less long joins a retry queue behind the update`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        try await fixture.retry(try await fixture.claimed("match-1", update), [Self.channel], due: 5_000)
        let short = try await fixture.push(expiry: Int(Self.now / 1_000) + 60)
        try await fixture.joinQueues(try await fixture.claimed("match-1", short), [Self.channel])
        #expect(try await fixture.sent() == [update, short])
    }

    @Test func `an end without a state goes to the broadcast channel behind the update`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.broadcastChannel()
        let ids = [
            try await fixture.push(), try await fixture.push(expiry: Int(Self.now / 1_000) + 60),
            try await fixture.push(.end, state: false),
        ]
        for _ in ids { _ = try await fixture.deliver(try await fixture.claimed("match-1"), targets: 0) }
        #expect(try await fixture.broadcastsInOrder(ids.count) == ids)
    }

    @Test func `a newer update that lives as long supersedes the one before it in the broadcast queue`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.broadcastChannel()
        var ids: [PushID] = []
        for _ in 0..<2 {
            ids.append(try await fixture.push())
            _ = try await fixture.deliver(try await fixture.claimed("match-1"), targets: 0)
        }
        #expect(try await fixture.broadcastsInOrder(1) == [ids[1]])
        #expect(try await fixture.ledger(ids[0]).broadcast?.state == .superseded)
    }

    @Test func `a late joiner whose state supersedes a waiting push gets it without its alert`() async throws {
        let fixture = try await PushFixture.start()
        let name = try ActivityName("match-1")
        // The alert is swept before the channel follows again. Its retry queue holds an older update
        // that was tried before.
        let older = try await fixture.push()
        try await fixture.retry(
            try await fixture.claimed("match-1", older), [Self.channel], due: 5_000, attempts: 3)
        let alert = try await fixture.push(alert: true)
        _ = try await fixture.deliver(try await fixture.claimed("match-1"), targets: 0)
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.key(Keyspace.lateJoiners), .bytes(Self.channel), "2 0"))
        let states = try await fixture.store.lateJoiners.states(fixture.app, name)
        let follower = try #require(LateJoiner(channel: Self.channel, value: Array("2 0".utf8)))
        _ = try await fixture.store.lateJoiners.settle(
            fixture.app, name, states, [(follower, .put(alert))])
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        #expect(waiting.push == alert && waiting.isLate, "it rings no alert of the past")
        #expect(waiting.attempts == 0, "the attempts were those of another push")
        #expect(try await fixture.ledger(older).pending == 1, "it goes out if the newer one does not arrive")
        try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        #expect(try await fixture.ledger(older).superseded == 1)
    }
}

extension PushFixture {
    /// The pushes of the name's only waiting channel. Each is delivered.
    fileprivate func sent() async throws -> [PushID] {
        let lease = try await claimRetries("match-1")
        var sent: [PushID] = []
        while let waiting = try await due(lease).first, sent.count < 10 {
            sent.append(waiting.push)
            try await settle(lease) { $0.finish(waiting, as: .delivered) }
        }
        return sent
    }

    /// Writes a broadcast channel, as a worker would.
    func broadcastChannel(_ name: String = "match-1") async throws {
        try await store.redis.send(
            RedisCommand(
                "HSET", key(Keyspace.broadcast, name), "state", "live", "storage", "none", "id",
                "dHN0LXNyY2gtY2hubA=="))
    }

    /// The pushes that go to the name's broadcast channel, each delivered at once.
    fileprivate func broadcastsInOrder(_ count: Int) async throws -> [PushID] {
        var sent: [PushID] = []
        while sent.count < count {
            // End the interval between two updates.
            try await store.redis.send(RedisCommand("HDEL", key(Keyspace.broadcast), "sent"))
            let take = try await store.broadcasts.take(app, try ActivityName("match-1"), owner: "w1", lease: lease)
            guard case .send(let task) = take.turn else { throw Unexpected(what: "\(take.turn), after \(sent)") }
            sent.append(task.record.id)
            _ = try await store.broadcasts.settle(task, BroadcastSettlement(.delivered, status: 200))
        }
        return sent
    }
}
