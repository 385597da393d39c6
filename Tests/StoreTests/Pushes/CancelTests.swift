import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// A push that is cancelled before anybody has it leaves the name as if it had not been accepted: what it superseded
/// waits again.
@Suite struct CancelTests {
    @Test(arguments: [ActivityEvent.update, .end])
    func `the update that a cancelled push superseded goes out`(event: ActivityEvent) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let update = try await fixture.push()
        let newer = try await fixture.push(event)
        #expect(try await fixture.ledger(update).state == .superseded)
        try await fixture.cancel(newer)
        let waiting = try await fixture.ledger(update)
        #expect(waiting.state == .queued && waiting.supersededBy == nil && waiting.finishedAt == nil)
        #expect(try await fixture.life(Keyspace.unswept) > 0)
        _ = try await fixture.deliver(try await fixture.claimed("match-1", update), targets: 1)
        let ledger = try await fixture.ledger(update)
        #expect(ledger.state == .done && ledger.delivered == 1)
        guard case .idle = try await fixture.begin("match-1", newer).0 else { throw Unexpected(what: "more to send") }
    }

    @Test func `each cancel goes back by one`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push(.end)]
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.superseded, .queued, .cancelled])
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.queued, .cancelled, .cancelled])
    }

    @Test func `a superseded push that nobody wants any more stays away, and the one before it comes`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push(.end)]
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.superseded, .superseded, .queued])
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.queued, .superseded, .cancelled])
    }

    @Test func `all that it superseded come back, in their order`() async throws {
        let fixture = try await PushFixture.start()
        var pushes: [PushID] = []
        for tag in ["a", "b", "c"] { pushes.append(try await fixture.push(audience: .tag(tag, group: "device"))) }
        let end = try await fixture.push(.end)
        try await fixture.cancel(end)
        for push in pushes {
            _ = try await fixture.deliver(try await fixture.claimed("match-1", push), targets: 1)
            #expect(try await fixture.ledger(push).state == .done)
        }
    }

    /// A card that shows the push that began must not go back to the older one.
    @Test func `an update from before a push that began since stays superseded`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let alert = try await fixture.push(audience: .tag("a", group: "device"), alert: true)
        let end = try await fixture.push(.end)
        _ = try await fixture.claimed("match-1", alert)
        try await fixture.cancel(end)
        #expect(try await fixture.states([update, alert, end]) == [.superseded, .sending, .cancelled])
    }

    /// A page in flight may still deliver it, so what it superseded waits for the end of its sweep.
    @Test(arguments: [0, 1])
    func `a push that is cancelled in its sweep gives way unless somebody has it`(delivered: Int) async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(.end)]
        let claim = try await fixture.claimed("match-1", pushes[1])
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.superseded, .cancelled])
        try await fixture.abandon(claim, delivered: delivered)
        #expect(try await fixture.states(pushes) == [delivered == 0 ? .queued : .superseded, .cancelled])
        if delivered > 0 { return }
        let update = try await fixture.claimed("match-1", pushes[0])
        _ = try await fixture.deliver(update, targets: 1)
        let ledger = try await fixture.ledger(pushes[0])
        #expect(ledger.state == .done && ledger.delivered == 1 && ledger.supersededBy == nil && ledger.superseded == 0)
    }

    @Test func `a refused push gives way, and so does one that is cancelled after its sweep`() async throws {
        let fixture = try await PushFixture.start()
        var pushes = [try await fixture.push(), try await fixture.push()]
        try await fixture.abandon(try await fixture.claimed("match-1", pushes[1]), stop: "PayloadEmpty")
        #expect(try await fixture.states(pushes) == [.queued, .failed])
        pushes.append(try await fixture.push())
        #expect(try await fixture.states(pushes) == [.superseded, .failed, .queued])
        try await fixture.retry(try await fixture.claimed("match-1", pushes[2]), [[1, 2, 3]], due: 5_000)
        let entries = try await fixture.entries()
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.queued, .failed, .cancelled])
        #expect(try await fixture.entries() == entries + 1, "a worker is woken for it")
    }

    @Test(arguments: [false, true])
    func `behind a push that expired, an update comes back that has not`(lasts: Bool) async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push()]
        let tag = fixture.store.keys.tag(fixture.app, try ActivityName("match-1"))
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.store.keys.push(tag, pushes[0]), "until", lasts ? "9000000000000" : "1"))
        let claim = try await fixture.claimed("match-1", pushes[1])
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.count(.expired)
        _ = try await fixture.settle(claim, settlement)
        #expect(try await fixture.states(pushes) == [lasts ? .queued : .superseded, .expired])
    }

    /// A wrong topic refuses them all, and a thousand may have superseded each other.
    @Test func `if the second one is refused too, no third one comes back`() async throws {
        let fixture = try await PushFixture.start()
        let pushes = [try await fixture.push(), try await fixture.push(), try await fixture.push()]
        for (at, states) in [(2, [PushState.superseded, .queued, .failed]), (1, [.superseded, .failed, .failed])] {
            try await fixture.abandon(try await fixture.claimed("match-1", pushes[at]), stop: "TopicDisallowed")
            #expect(try await fixture.states(pushes) == states)
        }
    }

    /// The newer state would follow at once.
    @Test func `nothing comes back before a push that supersedes it, until that one is cancelled too`() async throws {
        let fixture = try await PushFixture.start()
        var pushes = [try await fixture.push(), try await fixture.push()]
        let claim = try await fixture.claimed("match-1", pushes[1])
        pushes.append(try await fixture.push())
        try await fixture.cancel(pushes[1])
        try await fixture.abandon(claim)
        #expect(try await fixture.states(pushes) == [.superseded, .cancelled, .queued])
        try await fixture.cancel(pushes[2])
        #expect(try await fixture.states(pushes) == [.queued, .cancelled, .cancelled])
    }

    @Test func `a newer push that began keeps it away until that one is refused too`() async throws {
        let fixture = try await PushFixture.start()
        var pushes = [try await fixture.push(), try await fixture.push()]
        try await fixture.retry(try await fixture.claimed("match-1", pushes[1]), [[1, 2, 3]], due: 5_000)
        pushes.append(try await fixture.push())
        let claim = try await fixture.claimed("match-1", pushes[2])
        try await fixture.cancel(pushes[1])
        #expect(try await fixture.states(pushes) == [.superseded, .cancelled, .sending])
        try await fixture.abandon(claim, stop: "PayloadEmpty")
        #expect(try await fixture.states(pushes) == [.queued, .cancelled, .failed])
    }

    /// Its request was on the wire when it was cancelled.
    @Test func `what came back does not follow the cancelled push at a phone that got that one`() async throws {
        let fixture = try await PushFixture.start()
        let (channel, name) = (ChannelID.random(), try ActivityName("match-1"))
        let registration = Registration(
            channel: channel, token: try #require(PushToken(bytes: [7])), registeredAt: 1_795_000_000_000)
        _ = try await fixture.store.registry.track(fixture.app, .activity(name), [registration])
        let pushes = [try await fixture.push(), try await fixture.push(now: 1_795_000_000_001)]
        try await fixture.retry(try await fixture.claimed("match-1", pushes[1]), [channel.stored], due: 5_000)
        let lease = try await fixture.claimRetries("match-1")
        let sent = try #require(try await fixture.due(lease).first)
        try await fixture.cancel(pushes[1])
        try await fixture.joinQueues(try await fixture.claimed("match-1", pushes[0]), [channel.stored])
        try await fixture.settle(lease) { $0.finish(sent, as: .delivered) }
        #expect(try await fixture.due(lease).isEmpty)
        let ledgers = [try await fixture.ledger(pushes[0]), try await fixture.ledger(pushes[1])]
        #expect(ledgers[0].state == .done && ledgers[0].superseded == 1 && ledgers[0].targets == 1, "\(ledgers[0])")
        #expect(ledgers[1].delivered == 1 && ledgers[1].skipped == 0, "\(ledgers[1])")
    }

    @Test func `a push for some that began between the two keeps it away`() async throws {
        let fixture = try await PushFixture.start()
        let update = try await fixture.push()
        let some = try await fixture.push(audience: .tag("a", group: "device"), alert: true)
        let end = try await fixture.push(.end)
        _ = try await fixture.deliver(try await fixture.claimed("match-1", some), targets: 1)
        try await fixture.abandon(try await fixture.claimed("match-1", end), stop: "PayloadEmpty")
        #expect(try await fixture.states([update, some, end]) == [.superseded, .done, .failed])
    }
}

extension PushFixture {
    fileprivate func cancel(_ push: PushID) async throws { _ = try await store.pushes.cancel(app, push) }

    /// Settles the whole shard of a push that was stopped, or stops it.
    fileprivate func abandon(_ claim: Claim, delivered: Int = 0, stop: String? = nil) async throws {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = delivered
        settlement.count(.delivered, delivered)
        (settlement.stop, settlement.abandonsRest) = (stop, true)
        _ = try await settle(claim, settlement)
    }

    fileprivate func entries() async throws -> Int {
        let stream = store.keys.stream(app, .namesHigh, try partition())
        return try await store.redis.send(RedisCommand("XLEN", stream)).integer()
    }

    fileprivate func states(_ pushes: [PushID]) async throws -> [PushState] {
        var states: [PushState] = []
        for push in pushes { states.append(try await ledger(push).state) }
        return states
    }

    fileprivate func life(_ key: @escaping (Keyspace) -> (String) -> RedisKey) async throws -> Int {
        try await store.redis.send(RedisCommand("PTTL", try self.key(key))).integer()
    }
}
