import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests when a name is closed: while there is an `end` for all that reached a channel, or still may.
@Suite struct EndMarkTests {
    private static let name = "order-1"

    @Test func `an end that is cancelled before it is sent closes nothing`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        let end = try await fixture.push(.end, name: Self.name)
        #expect(try await fixture.isEnded)
        _ = try await fixture.store.pushes.cancel(fixture.app, end)
        #expect(try await !fixture.isEnded)
        _ = try await fixture.push(name: Self.name)
    }

    @Test func `an end that is cancelled while it is sent closes nothing unless it reached somebody`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        for reached in [0, 1] {
            let end = try await fixture.push(.end, name: Self.name)
            let claim = try await fixture.claimed(Self.name)
            var page = Settlement(range: .start..<ScanPosition.share(512))
            page.targets = reached
            page.count(.delivered, reached)
            _ = try await fixture.settle(claim, page)
            _ = try await fixture.store.pushes.cancel(fixture.app, end)
            var rest = Settlement(range: claim.lease.bounds)
            rest.abandonsRest = true
            _ = try await fixture.settle(claim, rest)
            #expect(try await fixture.ledger(end).state == .cancelled)
            #expect(try await fixture.isEnded == (reached > 0))
        }
    }

    @Test(arguments: [SettledField.expired, .failed])
    func `an end that reached nobody closes nothing`(field: SettledField) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 2)
        let end = try await fixture.push(.end, name: Self.name)
        let claim = try await fixture.claimed(Self.name, end)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        page.count(field, 2)
        _ = try await fixture.settle(claim, page)
        #expect(try await fixture.ledger(end).state.isFinal)
        #expect(try await !fixture.isEnded)
    }

    @Test(arguments: [SettledField.expired, .failed, .delivered])
    func `the last attempt of an end decides whether it closes`(field: SettledField) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        let end = try await fixture.push(.end, name: Self.name)
        try await fixture.retry(try await fixture.claimed(Self.name, end), [[1, 2]], due: 5_000)
        #expect(try await fixture.isEnded)
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        try await fixture.settle(lease) { $0.finish(waiting, as: field) }
        #expect(try await fixture.ledger(end).state.isFinal)
        #expect(try await fixture.isEnded == (field == .delivered))
    }

    @Test func `an end that is stopped closes nothing`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        let end = try await fixture.push(.end, name: Self.name)
        let claim = try await fixture.claimed(Self.name, end)
        var page = Settlement(range: claim.lease.bounds)
        (page.targets, page.stop) = (1, "PayloadTooLarge")
        page.count(.failed)
        _ = try await fixture.settle(claim, page)
        #expect(try await fixture.ledger(end).state == .failed)
        #expect(try await !fixture.isEnded)
    }

    @Test(arguments: [BroadcastSettlement.Outcome.expired, .failed, .delivered])
    func `an end that reached no broadcast channel closes nothing`(
        outcome: BroadcastSettlement.Outcome
    ) async throws {
        let fixture = try await PushFixture.start()
        try await fixture.broadcastChannel(Self.name)
        let end = try await fixture.push(.end, name: Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name, end), targets: 0)
        let take = try await fixture.store.broadcasts.take(
            fixture.app, try ActivityName(Self.name), owner: "w1", lease: fixture.lease)
        guard case .send(let task) = take.turn else { throw Unexpected(what: "\(take.turn)") }
        _ = try await fixture.store.broadcasts.settle(task, BroadcastSettlement(outcome))
        #expect(try await fixture.ledger(end).state.isFinal)
        #expect(try await fixture.isEnded == (outcome == .delivered))
    }

    @Test func `an end of a name that nobody follows closes it`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await fixture.push(.end, name: Self.name)
        _ = try await fixture.deliver(try await fixture.claimed(Self.name), targets: 0)
        #expect(try await fixture.isEnded)
    }

    @Test func `another end is accepted while tokens follow, and refused when none do`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        let registration = Registration(
            channel: channel, token: try PushToken(hex: "abcd"), registeredAt: 1_794_999_000_000)
        let name = try ActivityName(Self.name)
        _ = try await fixture.store.registry.track(fixture.app, .activity(name), [registration])
        _ = try await fixture.push(.end, name: Self.name)
        #expect(try await fixture.publish(Self.name) == .refused(.nameClosed))
        _ = try await fixture.push(.end, name: Self.name)
        _ = try await fixture.push(.end, audience: .tag("vip", group: "device"), name: Self.name)
        try await fixture.store.registry.untrack(
            fixture.app, .activity(name), [Untrack(channel: channel, removedAt: 1_795_000_000_000)])
        #expect(try await fixture.publish(Self.name, event: .end) == .refused(.nameClosed))
    }

    @Test func `the mark belongs to the latest end that still stands`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        let ends = [
            try await fixture.push(.end, name: Self.name), try await fixture.push(.end, name: Self.name),
            try await fixture.push(.end, name: Self.name),
        ]
        for (index, isEnded) in [(1, true), (2, true), (0, false)] {
            _ = try await fixture.store.pushes.cancel(fixture.app, ends[index])
            #expect(try await fixture.isEnded == isEnded)
        }
    }

    @Test func `a name that began anew stays open when a later end is cancelled`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track(Self.name, count: 1)
        _ = try await fixture.push(.end, name: Self.name)
        let newcomer = Registration(
            channel: .random(), token: try PushToken(hex: "abcd"), registeredAt: 1_795_000_001_000)
        _ = try await fixture.store.registry.track(fixture.app, .activity(try ActivityName(Self.name)), [newcomer])
        #expect(try await !fixture.isEnded)
        let second = try await fixture.push(.end, name: Self.name)
        #expect(try await fixture.isEnded)
        _ = try await fixture.store.pushes.cancel(fixture.app, second)
        #expect(try await !fixture.isEnded, "the first end is not for the newcomer")
    }

    @Test func `an end that was on the wire when its push was over closes and is counted`() async throws {
        for isStopped in [false, true] {
            let (fixture, end, lease, waiting) = try await onTheWire(isStopped: isStopped)
            #expect(try await !fixture.isEnded)
            for _ in 0..<2 {
                try await fixture.settle(lease) {
                    $0.remove(waiting, TokenRemoval(channel: waiting.channel, token: [7], endedAt: 1_795_000_001_000))
                }
            }
            #expect(try await fixture.isEnded)
            #expect(try await fixture.publish(Self.name) == .refused(.nameClosed))
            let ledger = try await fixture.ledger(end)
            #expect(ledger.delivered == 1 && ledger.failed == 0 && ledger.skipped == 0 && ledger.pending == 0)
            #expect(try await fixture.store.deadLetters.letter(fixture.app, end)?.tokens ?? 0 == 0)
            let pending = try await fixture.pendingRemovals(Self.name)
            #expect(
                try await fixture.store.registry.prune(
                    fixture.app, .activity(try ActivityName(Self.name)), pending.map(\.removal))
                    == [.pruned])
        }
    }

    @Test func `an end that was delivered late leaves a name open that has gone on`() async throws {
        let (fixture, _, lease, waiting) = try await onTheWire(isStopped: false)
        _ = try await fixture.push(name: Self.name)
        try await fixture.settle(lease) {
            $0.remove(waiting, TokenRemoval(channel: waiting.channel, token: [7], endedAt: 1_795_000_001_000))
        }
        #expect(try await !fixture.isEnded)
    }

    /// An `end` for one channel, over while its second attempt is on the wire.
    private func onTheWire(isStopped: Bool) async throws -> (PushFixture, PushID, Lease, WaitingChannel) {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        try await fixture.track(Self.name, channel, token: 7, at: 1_795_000_000_000)
        let end = try await fixture.push(.end, name: Self.name)
        let claim = try await fixture.claimed(Self.name, end)
        var page = Settlement(range: .start..<ScanPosition.share(512))
        page.targets = 1
        page.retry(channel.stored, due: 5_000, attempts: 1)
        _ = try await fixture.settle(claim, page)
        let lease = try await fixture.claimRetries(Self.name)
        let waiting = try #require(try await fixture.due(lease).first)
        if !isStopped { _ = try await fixture.store.pushes.cancel(fixture.app, end) }
        var rest = Settlement(range: claim.lease.bounds)
        rest.abandonsRest = true
        if isStopped { rest.stop = "PayloadTooLarge" }
        _ = try await fixture.settle(claim, rest)
        #expect(try await fixture.ledger(end).state == (isStopped ? .failed : .cancelled))
        return (fixture, end, lease, waiting)
    }

    @Test func `a retried end closes its name until it turns out to reach nobody`() async throws {
        let fixture = try await PushFixture.start()
        let channel: [UInt8] = [1, 2]
        let end = try await stopped(fixture, channel)
        #expect(try await !fixture.isEnded)
        #expect(try await fixture.store.deadLetters.retry(fixture.app, end) == .taken(tokens: 1, isResumed: true))
        #expect(try await fixture.isEnded, "it is on its way again")
        let lease = try await fixture.claimRetries(Self.name)
        for field in [SettledField.failed, .delivered] {
            #expect(try await fixture.isEnded)
            let waiting = try #require(try await fixture.due(lease).first)
            try await fixture.settle(lease) { $0.finish(waiting, as: field, reason: "x", isGivenUp: field == .failed) }
            #expect(try await fixture.ledger(end).state == .done)
            #expect(try await fixture.isEnded == (field == .delivered))
            if field == .failed {
                let retried = try await fixture.store.deadLetters.retry(fixture.app, end)
                #expect(retried == .taken(tokens: 1, isResumed: false))
            }
        }
    }

    @Test func `a retried end does not close the name to a card that began since`() async throws {
        let fixture = try await PushFixture.start()
        let end = try await stopped(fixture, [1, 2])
        let newcomer = Registration(
            channel: .random(), token: try PushToken(hex: "abcd"), registeredAt: 1_795_000_001_000)
        _ = try await fixture.store.registry.track(fixture.app, .activity(try ActivityName(Self.name)), [newcomer])
        #expect(try await fixture.store.deadLetters.retry(fixture.app, end) == .taken(tokens: 1, isResumed: true))
        #expect(try await !fixture.isEnded, "the end is not for the newcomer")
        _ = try await fixture.push(name: Self.name)
    }

    /// An `end` that its first page stopped. Its time is long: Redis's own clock is asked.
    private func stopped(_ fixture: PushFixture, _ channel: [UInt8]) async throws -> PushID {
        let end = try await fixture.push(.end, expiry: 4_102_444_800, name: Self.name)
        let claim = try await fixture.claimed(Self.name, end)
        var page = Settlement(range: claim.lease.bounds)
        (page.targets, page.stop) = (1, "PayloadTooLarge")
        page.count(.failed)
        page.giveUp(channel, reason: "PayloadTooLarge")
        _ = try await fixture.settle(claim, page)
        #expect(try await fixture.ledger(end).state == .failed)
        return end
    }

    @Test func `a start that waits behind an end that is cancelled goes out`() async throws {
        let fixture = try await PushFixture.start()
        let end = try await fixture.push(.end, name: Self.name)
        let meta = try fixture.key(Keyspace.name, Self.name)
        #expect(try await fixture.store.redis.send(RedisCommand("HGET", meta, "over")).string() == "1")
        _ = try await fixture.store.pushes.cancel(fixture.app, end)
        #expect(try await fixture.store.redis.send(RedisCommand("HGET", meta, "over")).isNil)
    }
}

extension PushFixture {
    fileprivate var isEnded: Bool {
        get async throws { try await store.names.info(app, try ActivityName("order-1"))?.ended ?? false }
    }
}
