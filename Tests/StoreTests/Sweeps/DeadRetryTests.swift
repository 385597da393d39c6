import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Tests retries of dead letters: each token that was given up gets one more attempt, and finished tokens get none.
@Suite struct DeadRetryTests {
    static let stop = "TopicDisallowed"

    private func channel(_ number: Int) -> [UInt8] {
        [1, UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }

    /// Settles a page of the shard. `from` and `to` are in 1,024ths.
    private func page(
        _ fixture: PushFixture, _ claim: Claim, _ from: UInt64, _ to: UInt64, _ body: (inout Settlement) -> Void
    ) async throws {
        var settlement = Settlement(range: .share(from) ..< .share(to))
        body(&settlement)
        guard case .ok = try await fixture.settle(claim, settlement) else { throw Unexpected(what: "not settled") }
    }

    /// The worker that swept a stopped push reports how far it came.
    private func close(_ fixture: PushFixture, _ claim: Claim) async throws {
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.abandonsRest = true
        _ = try await fixture.settle(claim, settlement)
        #expect(try await fixture.ledger(claim.record.id).expanded)
    }

    /// Accepts a push now, by Redis's clock, because a push after its deadline is not retried.
    private func accepted(
        _ fixture: PushFixture, event: ActivityEvent = .update, alert: Bool = false, priority: PushPriority = .high
    ) async throws -> PushID {
        let time = try await fixture.store.redis.send(RedisCommand("TIME", near: Keyspace.queue))
        let acceptance = try await fixture.publish(
            "match-1", event: event, alert: alert, priority: priority, now: Int64(try time[0].integer()) * 1_000)
        guard case .accepted(let id, _, _) = acceptance else { throw Unexpected(what: "\(acceptance)") }
        return id
    }

    private func retry(_ fixture: PushFixture, _ id: PushID) async throws -> DeadRetry {
        try await fixture.store.deadLetters.retry(fixture.app, id)
    }

    private func letter(_ fixture: PushFixture, _ id: PushID) async throws -> DeadLetter {
        try #require(try await fixture.store.deadLetters.letter(fixture.app, id))
    }

    /// Settles one page that delivers three tokens, lets channels 0 and 1 wait for a retry, and stops the push.
    private func stopped(
        _ fixture: PushFixture, alert: Bool = true, priority: PushPriority = .high
    ) async throws -> (PushID, Claim) {
        let id = try await accepted(fixture, alert: alert, priority: priority)
        let claim = try await fixture.claimed("match-1", id)
        try await page(fixture, claim, 0, 256) { page in
            page.targets = 6
            page.count(.delivered, 3)
            for number in 0..<2 { page.retry(channel(number), due: 5_000, attempts: 1) }
            page.count(.failed)
            page.giveUp(channel(2), reason: Self.stop)
            page.stop = Self.stop
        }
        return (id, claim)
    }

    @Test func `what a page settles after the stop is kept`() async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture)
        // This page was on the wire when the push was stopped. Two of its channels are retried, and one
        // waits for an older push.
        try await page(fixture, claim, 256, 512) { page in
            page.targets = 4
            page.count(.delivered, 2)
            for number in 3..<5 { page.retry(channel(number), due: 5_000, attempts: 1) }
            page.joinQueue(channel(5), mostAttempts: 5)
        }
        try await close(fixture, claim)
        let given = try await fixture.ledger(id)
        #expect(given.state == .failed && given.failed == 6 && given.delivered == 5 && given.pending == 0)
        #expect(try await letter(fixture, id).tokens == 6)
        #expect(try await letter(fixture, id).kept == 4, "two of the six wait in line")
        #expect(try await retry(fixture, id) == .taken(tokens: 6, isResumed: true))
        let taken = try await fixture.ledger(id)
        #expect(taken.failed == 0 && taken.pending == 6 && taken.targets == 11)
        let lease = try await fixture.claimRetries("match-1")
        let due = try await fixture.due(lease)
        #expect(Set(due.map(\.channel)) == Set((0..<6).map(channel)) && due.allSatisfy { $0.push == id })
        // The rest of the sweep begins where it stopped.
        let again = try await fixture.claimed("match-1", id)
        #expect(again.position == .share(512))
    }

    @Test func `what was delivered after the stop is not tried again`() async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try await fixture.due(lease)
        #expect(waiting.count == 2)
        // One attempt was on the wire when the push was stopped, and the other was not made.
        try await fixture.settle(lease) {
            $0.finish(waiting[0], as: .delivered)
            $0.drop(waiting[1])
        }
        try await close(fixture, claim)
        let given = try await fixture.ledger(id)
        #expect(given.delivered == 4 && given.failed == 2 && given.pending == 0)
        let kept = try await letter(fixture, id)
        #expect(kept.tokens == 2 && kept.kept == 2)
        #expect(try await retry(fixture, id) == .taken(tokens: 2, isResumed: true))
        #expect(try await fixture.ledger(id).pending == 2)
    }

    /// Its page did not wait for the slowest answers, and was settled after the push had stopped.
    @Test func `what is answered late after the stop is not tried again`() async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture)
        var tokens = TokenPage()
        tokens.append(channel: channel(3), token: [0xAA], registeredAt: 0, attempt: 0)
        let request = OpenRequest(
            OpenRequest.ID(worker: 7, number: 1), WaitingChannel(tokens, 0, of: id), for: .seconds(600))
        try await page(fixture, claim, 256, 512) { page in
            page.targets = 1
            page.leaveOpen(request)
        }
        try await close(fixture, claim)
        #expect(try await fixture.ledger(id).failed == 4)
        var answer = RetrySettlement()
        var waiting = request.channel
        waiting.openID = request.id
        answer.finish(waiting, as: .delivered)
        _ = try await fixture.store.sweeps.settleLate(fixture.app, try ActivityName("match-1"), answer)
        let given = try await fixture.ledger(id)
        #expect(given.delivered == 4 && given.failed == 3 && given.pending == 0)
        let kept = try await letter(fixture, id)
        #expect(kept.tokens == 3 && kept.kept == 1, "two wait in line")
        #expect(try await retry(fixture, id) == .taken(tokens: 3, isResumed: true))
        let taken = try await fixture.ledger(id)
        #expect(taken.failed == 0 && taken.delivered == 4 && taken.pending == 3)
        // The same answer once more, and with a word about the push: it is older than the retry.
        answer.stop(id, reason: Self.stop)
        _ = try await fixture.store.sweeps.settleLate(fixture.app, try ActivityName("match-1"), answer)
        let again = try await fixture.ledger(id)
        #expect(again.state != .failed && again.failed == 0 && again.pending == 3, "\(again)")
    }

    /// A card that shows a newer state must not go back.
    @Test(arguments: ["delivered", "waits", "refused", "cancelled"])
    func `a newer push keeps a dead letter from its retry as long as it stands`(newer: String) async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture, alert: false)
        try await close(fixture, claim)
        let other = try await accepted(fixture)
        let begun = try await fixture.claimed("match-1", other)
        switch newer {
        case "delivered": _ = try await fixture.deliver(begun, targets: 1)
        case "waits": try await fixture.retry(begun, [channel(7)], due: 5_000)
        case "refused":
            var settlement = Settlement(range: begun.lease.bounds)
            (settlement.stop, settlement.abandonsRest) = (Self.stop, true)
            _ = try await fixture.settle(begun, settlement)
        default:
            try await fixture.retry(begun, [channel(7)], due: 5_000)
            _ = try await fixture.store.pushes.cancel(fixture.app, other)
        }
        let stands = newer == "delivered" || newer == "waits"
        #expect(try await retry(fixture, id) == (stands ? .newer(other) : .taken(tokens: 3, isResumed: true)))
        if stands { return }
        _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 1)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.failed == 0 && ledger.pending == 3 && ledger.delivered == 4 && ledger.targets == 7, "\(ledger)")
    }

    @Test func `a resumed push that is superseded leaves nothing pending`() async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture, alert: false)
        try await close(fixture, claim)
        #expect(try await retry(fixture, id) == .taken(tokens: 3, isResumed: true))
        let newer = try await accepted(fixture)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .superseded && ledger.supersededBy == newer)
        #expect(ledger.superseded == 3 && ledger.pending == 0, "\(ledger)")
        let tasks = fixture.store.keys.tasks(fixture.store.keys.tag(fixture.app, try ActivityName("match-1")), id)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", tasks)).integer() == 0)
        // Its channels get the newer push.
        try await fixture.joinQueues(try await fixture.claimed("match-1", newer), (0..<3).map(channel))
        let lease = try await fixture.claimRetries("match-1")
        #expect(try await fixture.due(lease).map(\.push) == [newer, newer, newer])
        #expect(try await fixture.ledger(id).pending == 0)
    }

    @Test func `a resumed push that is cancelled leaves nothing pending`() async throws {
        let fixture = try await PushFixture.start()
        let (id, claim) = try await stopped(fixture, alert: false)
        try await close(fixture, claim)
        #expect(try await retry(fixture, id) == .taken(tokens: 3, isResumed: true))
        let ledger = try #require(try await fixture.store.pushes.cancel(fixture.app, id))
        #expect(ledger.state == .cancelled && ledger.skipped == 3 && ledger.pending == 0, "\(ledger)")
        #expect(ledger.targets == 6 && ledger.delivered == 3)
        let tasks = fixture.store.keys.tasks(fixture.store.keys.tag(fixture.app, try ActivityName("match-1")), id)
        #expect(try await fixture.store.redis.send(RedisCommand("EXISTS", tasks)).integer() == 0)
        #expect(try await retry(fixture, id) != .taken(tokens: 3, isResumed: true))
    }

    @Test func `what was broadcast is not broadcast again nor counted twice in the budget`() async throws {
        let fixture = try await PushFixture.start()
        let name = try ActivityName("match-1")
        let tag = fixture.store.keys.tag(fixture.app, name)
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.store.keys.broadcast(tag), "state", "live", "id", "YQ==", "storage", "none"))
        func begin(_ id: PushID) async throws -> Claim {
            let (begun, _) = try await fixture.store.sweeps.begin(
                fixture.app, name, expecting: id, owner: "w1", lease: fixture.lease, budget: HighBudget(perHour: 10))
            guard case .claimed(let claim) = begun else { throw Unexpected(what: "\(begun)") }
            return claim
        }
        func budget() async throws -> String? {
            let text = try await fixture.store.redis.send(
                RedisCommand("HGET", fixture.store.keys.name(tag), "budget")
            ).string()
            return text.split(separator: " ").last.map(String.init)
        }
        // Only the push that was not sent is broadcast now. One was broadcast before, and one has expired.
        for outcome in [.delivered, .expired, nil] as [BroadcastSettlement.Outcome?] {
            let id = try await accepted(fixture, alert: true)
            let claim = try await begin(id)
            #expect(claim.record.awaitsBroadcast)
            let counted = try await budget()
            if let outcome {
                let take = try await fixture.store.broadcasts.take(
                    fixture.app, name, owner: "w1", lease: fixture.lease)
                guard case .send(let task) = take.turn else { throw Unexpected(what: "\(take)") }
                #expect(try await fixture.store.broadcasts.settle(task, BroadcastSettlement(outcome, status: 200)))
            }
            try await page(fixture, claim, 0, 256) { page in
                page.targets = 1
                page.count(.failed)
                page.giveUp(channel(0), reason: Self.stop)
                page.stop = Self.stop
            }
            try await close(fixture, claim)
            if outcome == nil {
                // The stopped push leaves the broadcast queue without being sent.
                let take = try await fixture.store.broadcasts.take(
                    fixture.app, name, owner: "w1", lease: fixture.lease)
                #expect(take.counted == [.cancelled: 1])
            }
            #expect(try await retry(fixture, id) == .taken(tokens: 1, isResumed: true))
            let again = try await begin(id)
            #expect(again.record.awaitsBroadcast == (outcome == nil))
            #expect(try await budget() == counted, "the hour's updates count each push once")
            let state: PushBroadcast.State =
                outcome == .delivered ? .delivered : outcome == .expired ? .expired : .waiting
            #expect(try await fixture.ledger(id).broadcast?.state == state)
            _ = try await fixture.deliver(again, targets: 0)
        }
    }

    @Test(arguments: [true, false])
    func `a broadcast that a stop cancelled goes out with the retry, also after the last page`(
        isSent: Bool
    ) async throws {
        let fixture = try await PushFixture.start()
        let name = try ActivityName("match-1")
        let tag = fixture.store.keys.tag(fixture.app, name)
        try await fixture.store.redis.send(
            RedisCommand("HSET", fixture.store.keys.broadcast(tag), "state", "live", "id", "YQ==", "storage", "none"))
        let id = try await accepted(fixture, alert: true)
        let claim = try await fixture.claimed("match-1", id)
        func take() async throws -> BroadcastTake {
            try await fixture.store.broadcasts.take(fixture.app, name, owner: "w1", lease: fixture.lease)
        }
        func send() async throws {
            guard case .send(let task) = try await take().turn else { throw Unexpected(what: "nothing to send") }
            #expect(task.record.id == id)
            #expect(try await fixture.store.broadcasts.settle(task, BroadcastSettlement(.delivered, status: 200)))
        }
        if isSent { try await send() }
        var settlement = Settlement(range: claim.lease.bounds)
        settlement.targets = 1
        settlement.count(.failed)
        settlement.giveUp(channel(0), reason: Self.stop)
        settlement.stop = Self.stop
        _ = try await fixture.settle(claim, settlement)
        if !isSent { #expect(try await take().counted == [.cancelled: 1]) }
        #expect(try await retry(fixture, id) == .taken(tokens: 1, isResumed: true))
        #expect(try await fixture.ledger(id).state == .sending, "no shard is left")
        #expect(try await fixture.ledger(id).broadcast?.state == (isSent ? .delivered : .waiting))
        if !isSent { try await send() }
        guard case .idle = try await take().turn else { throw Unexpected(what: "sent once more") }
        #expect(try await fixture.ledger(id).broadcast?.state == .delivered)
    }

    @Test func `a large dead letter is taken in steps`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await accepted(fixture, alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await page(fixture, claim, 0, 256) { page in
            page.targets = 3_000
            for number in 0..<2_000 { page.retry(channel(number), due: 5_000, attempts: 1) }
            page.count(.failed, 1_000)
            for number in 2_000..<3_000 { page.giveUp(channel(number), reason: "ServiceUnavailable") }
            page.stop = Self.stop
        }
        try await close(fixture, claim)
        _ = try await fixture.store.redis.everywhere("CONFIG", "RESETSTAT")
        #expect(try await retry(fixture, id) == .taken(tokens: 3_000, isResumed: true))
        let calls = try await fixture.store.redis.calls()
        // 2,000 channels are collected and 3,000 taken, about 200 in a step of few commands for each.
        let scripts = calls["evalsha"] ?? 0
        #expect(scripts >= 20 && calls["hscan"] ?? 0 >= 15, "\(scripts) scripts")
        #expect(calls.values.reduce(0, +) / max(1, scripts) < 3_000)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.failed == 0 && ledger.pending == 3_000 && ledger.state == .queued)
        #expect(try await fixture.store.deadLetters.letter(fixture.app, id) == nil)
        let tag = fixture.store.keys.tag(fixture.app, try ActivityName("match-1"))
        let lines = try await fixture.store.redis.send(RedisCommand("HLEN", fixture.store.keys.retryQueues(tag)))
        #expect(try lines.integer() == 3_000)
        #expect(try await retry(fixture, id) == .none)
    }

    @Test func `beyond a hundred thousand channels only the number is kept`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await accepted(fixture, alert: true)
        let claim = try await fixture.claimed("match-1", id)
        let (pages, ofPage) = (20, DeadLetters.mostChannels / 20 + 1)
        let count = pages * ofPage
        for index in 0..<pages {
            let from = UInt64(index) * 50
            try await page(fixture, claim, from, index == pages - 1 ? 1_024 : from + 50) { page in
                page.targets = ofPage
                page.count(.failed, ofPage)
                for number in 0..<ofPage {
                    page.giveUp(channel(index * ofPage + number), reason: "ServiceUnavailable")
                }
            }
        }
        let given = try await letter(fixture, id)
        #expect(given.tokens == count && given.kept == DeadLetters.mostChannels && given.notKept == 20)
        #expect(try await retry(fixture, id) == .taken(tokens: DeadLetters.mostChannels, isResumed: false))
        let ledger = try await fixture.ledger(id)
        #expect(ledger.failed == 20 && ledger.pending == DeadLetters.mostChannels)
    }

    /// A delivered `end` with a pending removal is the first in its channel's retry queue.
    @Test func `a delivered end with a pending removal is not retried`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("match-1", count: 1)
        let id = try await accepted(fixture, event: .end)
        let claim = try await fixture.claimed("match-1", id)
        try await page(fixture, claim, 0, 256) { page in
            page.targets = 2
            for number in 0..<2 { page.retry(channel(number), due: 5_000, attempts: 1) }
        }
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try await fixture.due(lease)
        try await fixture.settle(lease) {
            $0.remove(waiting[0], TokenRemoval(channel: waiting[0].channel, token: [7], endedAt: 9))
        }
        try await page(fixture, claim, 256, 512) { page in page.stop = Self.stop }
        try await close(fixture, claim)
        #expect(try await retry(fixture, id) == .taken(tokens: 1, isResumed: true))
        let ledger = try await fixture.ledger(id)
        #expect(ledger.pending == 2 && ledger.failed == 0, "one waits, one is owed its removal: \(ledger)")
    }
}
