import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Tests the retry queues of waiting channels, as the scripts keep them.
@Suite struct RetryQueueTests {
    static let channel: [UInt8] = [1, 2]

    @Test func `a retried channel waits in Redis and counts once`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1")
        try await fixture.retry(try await fixture.claimed("match-1", id), [Self.channel], due: 5_000)
        #expect(try await fixture.ledger(id).pending == 1)
        #expect(try await fixture.firstRetry("match-1") == 5_000)
        let lease = try await fixture.claimRetries("match-1")
        #expect(try await fixture.due(lease, now: 4_999).isEmpty)
        let first = try #require(try await fixture.due(lease, now: 5_000).first)
        #expect(first.push == id && first.attempts == 1 && first.token == nil)
        // Its platform had no turn for it.
        try await fixture.settle(lease) {
            $0.postpone(first, due: 5_000, attempts: 1, reason: "", wasSent: false, mayBeDuplicate: false)
        }
        for _ in 0..<2 {
            try await fixture.settle(lease) {
                $0.postpone(first, due: 9_000, attempts: 2, reason: "TooManyRequests", mayBeDuplicate: false)
            }
        }
        #expect(try await fixture.firstRetry("match-1") == 9_000)
        let second = try #require(try await fixture.due(lease).first)
        #expect(second.attempts == 2)
        for waiting in [first, second, second] {
            try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .done && ledger.delivered == 1 && ledger.targets == 1 && ledger.retries == 2)
        #expect(try await fixture.leftKeys("match-1").isEmpty, "nothing is left of it")
    }

    @Test func `a supersedable retry is superseded and keeps its time`() async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted("match-1")
        try await fixture.retry(
            try await fixture.claimed("match-1", old), [Self.channel], due: 9_000_000_000_000, attempts: 7)
        let new = try await fixture.accepted("match-1")
        try await fixture.joinQueues(try await fixture.claimed("match-1", new), [Self.channel])
        #expect(try await fixture.ledger(old).pending == 1, "it goes out if the newer one is cancelled")
        let lease = try await fixture.claimRetries("match-1")
        #expect(try await fixture.firstRetry("match-1") == 9_000_000_000_000)
        let waiting = try #require(try await fixture.due(lease).first)
        #expect(waiting.push == new && waiting.attempts == 4, "it has attempts of its own left")
        for _ in 0..<2 { try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) } }
        let replaced = try await fixture.ledger(old)
        #expect(replaced.state == .done && replaced.superseded == 1 && replaced.targets == 1)
        #expect(try await fixture.ledger(new).state == .done)
        #expect(try await fixture.leftKeys("match-1").isEmpty)
    }

    /// Each outcome but a delivery leaves the update before it, which has the attempts that are left.
    @Test(arguments: [SettledField.failed, .skipped, .expired])
    func `an update goes out if the newer one behind it does not arrive`(outcome: SettledField) async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted("match-1")
        try await fixture.retry(try await fixture.claimed("match-1", old), [Self.channel], due: 5_000, attempts: 3)
        let new = try await fixture.accepted("match-1")
        try await fixture.joinQueues(try await fixture.claimed("match-1", new), [Self.channel])
        let lease = try await fixture.claimRetries("match-1")
        let second = try #require(try await fixture.due(lease).first)
        for _ in 0..<2 { try await fixture.settle(lease) { $0.finish(second, as: outcome) } }
        let first = try #require(try await fixture.due(lease).first)
        #expect(second.push == new && first.push == old && first.attempts == 3)
        try await fixture.settle(lease) { $0.finish(first, as: .delivered) }
        let ledger = try await fixture.ledger(old)
        #expect(ledger.state == .done && ledger.delivered == 1 && ledger.superseded == 0)
        #expect(try await fixture.leftKeys("match-1").isEmpty)
    }

    /// An outage of an hour must not fill each queue.
    @Test func `of updates in a row the newest two wait`() async throws {
        let fixture = try await PushFixture.start()
        var ids: [PushID] = []
        for number in 0..<5 {
            ids.append(try await fixture.accepted("match-1"))
            let claim = try await fixture.claimed("match-1", ids[number])
            if number == 0 {
                try await fixture.retry(claim, [Self.channel], due: 5_000, attempts: 3)
            } else {
                try await fixture.joinQueues(claim, [Self.channel])
            }
        }
        for (number, id) in ids.enumerated() {
            let ledger = try await fixture.ledger(id)
            #expect(ledger.superseded == (number < 3 ? 1 : 0) && ledger.pending == (number < 3 ? 0 : 1))
        }
        // The newest is cancelled, so the next one joins behind the one before.
        _ = try await fixture.store.pushes.cancel(fixture.app, ids[4])
        let next = try await fixture.accepted("match-1")
        try await fixture.joinQueues(try await fixture.claimed("match-1", next), [Self.channel])
        #expect(try await fixture.ledger(ids[3]).pending == 1)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        #expect(waiting.push == next && waiting.attempts == 3)
        _ = try await fixture.store.pushes.cancel(fixture.app, next)
        #expect(try await fixture.due(lease).first?.push == ids[3])
    }

    @Test func `pushes that cannot be superseded are sent in order`() async throws {
        let fixture = try await PushFixture.start()
        var ids: [PushID] = []
        for number in 0..<4 {
            // Three alerts and one update, which the next alert supersedes.
            ids.append(try await fixture.accepted("match-1", alert: number != 2))
            let claim = try await fixture.claimed("match-1", ids[number])
            if number == 0 {
                try await fixture.retry(claim, [Self.channel], due: 5_000)
            } else {
                try await fixture.joinQueues(claim, [Self.channel])
            }
        }
        let lease = try await fixture.claimRetries("match-1")
        var sent: [PushID] = []
        while let waiting = try await fixture.due(lease).first, sent.count < 10 {
            sent.append(waiting.push)
            try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        }
        #expect(sent == [ids[0], ids[1], ids[3]])
        for id in ids { #expect(try await fixture.ledger(id).pending == 0) }
        #expect(try await fixture.ledger(ids[2]).superseded == 1)
    }

    @Test func `a full retry queue keeps the newest`() async throws {
        let fixture = try await PushFixture.start()
        var ids: [PushID] = []
        for number in 0..<66 {
            ids.append(try await fixture.accepted("match-1", alert: true))
            let claim = try await fixture.claimed("match-1", ids[number])
            if number == 0 {
                try await fixture.retry(claim, [Self.channel], due: 5_000)
            } else {
                try await fixture.joinQueues(claim, [Self.channel])
            }
        }
        for id in ids[1...2] {
            let ledger = try await fixture.ledger(id)
            #expect(ledger.state == .done && ledger.failed == 1 && ledger.errors == ["TooManyWaiting": 1])
            let letter = try #require(try await fixture.store.deadLetters.letter(fixture.app, id))
            #expect(letter.reasons == ["TooManyWaiting": 1] && letter.kept == 1)
        }
        #expect(try await fixture.store.deadLetters.letter(fixture.app, ids[3]) == nil)
        for listed in [Set(ids[1...2]), []] {
            let pushes = try await fixture.store.deadLetters.enlistUnlisted(fixture.app, ActivityName("match-1"))
            #expect(Set(pushes) == listed)
        }
        #expect(try await fixture.store.deadLetters.count(fixture.app) == 2)
        let lease = try await fixture.claimRetries("match-1")
        #expect(try await fixture.due(lease).map(\.push) == [ids[0]])
        #expect(try await fixture.ledger(ids[65]).pending == 1)
    }

    /// Its token was counted when the push was stopped. An operator retries it.
    @Test func `a stopped push that leaves a full retry queue keeps its channel`() async throws {
        let fixture = try await PushFixture.start()
        var stopped: PushID?
        for number in 0..<65 {
            let claim = try await fixture.claimed("match-1", try await fixture.accepted("match-1", alert: true))
            if number == 0 {
                try await fixture.retry(claim, [Self.channel], due: 5_000)
            } else if number == 1 {
                stopped = claim.record.id
                var page = Settlement(range: claim.lease.bounds)
                page.joinQueue(Self.channel, mostAttempts: 4)
                page.stop = "TopicDisallowed"
                _ = try await fixture.settle(claim, page)
            } else {
                try await fixture.joinQueues(claim, [Self.channel])
            }
        }
        let id = try #require(stopped)
        let letter = try #require(try await fixture.store.deadLetters.letter(fixture.app, id))
        #expect(letter.reasons == ["TopicDisallowed": 1] && letter.kept == 1)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.state == .failed && ledger.failed == 1 && ledger.pending == 0)
    }

    @Test func `only one owner at a time and only the latest settles`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", alert: true)
        try await fixture.retry(try await fixture.claimed("match-1", id), [Self.channel], due: 5_000)
        let old = try await fixture.claimRetries("match-1", owner: "slow", for: .zero)
        let waiting = try #require(try await fixture.due(old).first)
        let new = try await fixture.claimRetries("match-1", owner: "quick")
        guard
            case .held = try await fixture.store.sweeps.claimRetries(
                fixture.app, try ActivityName("match-1"), owner: "third", lease: fixture.lease)
        else { throw Unexpected(what: "two owners") }
        var settlement = RetrySettlement()
        settlement.finish(waiting, as: .failed)
        guard case .stale = try await fixture.store.sweeps.settle(old, for: fixture.lease, settlement) else {
            throw Unexpected(what: "a stale lease settled")
        }
        #expect(try await fixture.ledger(id).pending == 1)
        #expect(try await fixture.store.sweeps.renew(old, for: .seconds(60)) == false)
        #expect(try await fixture.store.sweeps.giveBack(new))
        guard
            case .claimed = try await fixture.store.sweeps.claimRetries(
                fixture.app, try ActivityName("match-1"), owner: "third", lease: fixture.lease)
        else { throw Unexpected(what: "not given back") }
    }

    @Test func `a token that was registered during the attempt still gets the push`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let id = try await fixture.accepted("match-1", alert: true)
        try await fixture.retry(try await fixture.claimed("match-1", id), [channel.stored], due: 5_000)
        let lease = try await fixture.claimRetries("match-1")
        for field in [SettledField.delivered, .skipped, .failed] {
            let waiting = try #require(try await fixture.due(lease).first)
            let time = 1_795_000_000_001 + Int64(waiting.token?[0] ?? 0)
            try await fixture.track("match-1", channel, token: (waiting.token?[0] ?? 0) + 1, at: time)
            try await fixture.settle(lease) { $0.finish(waiting, as: field) }
            #expect(try await fixture.ledger(id).pending == 1, "\(field) was said of the token before")
        }
        // The same token again does not cause another attempt.
        let waiting = try #require(try await fixture.due(lease).first)
        #expect(waiting.token?[0] == 4)
        try await fixture.track("match-1", channel, token: 4, at: 1_795_000_001_000)
        try await fixture.settle(lease) { $0.finish(waiting, as: .delivered) }
        #expect(try await fixture.ledger(id).delivered == 1)
    }

    @Test func `an end that was delivered holds what waits behind it until its token is gone`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let end = try await fixture.accepted("match-1", event: .end, audience: .channel(channel))
        try await fixture.retry(try await fixture.claimed("match-1", end), [channel.stored], due: 5_000)
        let later = try await fixture.accepted("match-1", alert: true)
        try await fixture.joinQueues(try await fixture.claimed("match-1", later), [channel.stored])
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        let token = try #require(waiting.token)
        for _ in 0..<2 {
            try await fixture.settle(lease) {
                $0.remove(waiting, TokenRemoval(channel: channel.stored, token: token, endedAt: 1_795_000_001_000))
            }
        }
        #expect(try await fixture.due(lease).isEmpty, "nothing goes to it now")
        let name = try ActivityName("match-1")
        let (page, _, hints) = try await fixture.store.tokens.markedPage(
            fixture.app, .activity(name), from: .start, to: .end, limit: 10)
        let marks = try await fixture.store.tokens.marks(fixture.app, .activity(name), page, hints, for: .update)
        #expect(marks?[0] == [.waiting])
        let pending = try await fixture.pendingRemovals("match-1")
        #expect(pending.count == 1)
        #expect(
            try await fixture.store.registry.prune(fixture.app, .activity(name), pending.map(\.removal)) == [.pruned])
        let (counted, first) = try await fixture.store.sweeps.confirm(
            fixture.app, name, pending.map { (pending: $0, as: .delivered) })
        #expect(counted == [.ios: Outcomes([.delivered: 1])] && first != nil)
        #expect(
            try await fixture.store.tokens.marks(fixture.app, .activity(name), page, hints, for: .update) == nil,
            "a page from before the removal is to be read again")
        #expect(try await fixture.ledger(end).delivered == 1)
        let behind = try #require(try await fixture.due(lease).first)
        #expect(behind.push == later && behind.token == nil)
    }

    @Test func `a dead token has one pending removal, and its retry queue moves up`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let first = try await fixture.accepted("match-1", alert: true)
        try await fixture.retry(try await fixture.claimed("match-1", first), [channel.stored], due: 5_000)
        let second = try await fixture.accepted("match-1", alert: true)
        try await fixture.joinQueues(try await fixture.claimed("match-1", second), [channel.stored])
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        let prune = TokenRemoval(
            channel: channel.stored, token: try #require(waiting.token), deadSince: nil, reason: "BadDeviceToken")
        for _ in 0..<2 { try await fixture.settle(lease) { $0.remove(waiting, prune) } }
        #expect(try await fixture.pendingRemovals("match-1") == [PendingRemoval(push: first, removal: prune)])
        #expect(try await fixture.due(lease).first?.push == second)
        let ledger = try await fixture.ledger(first)
        #expect(ledger.pending == 1 && ledger.errors == ["BadDeviceToken": 1])
    }

    @Test func `a superseded retry's due time counts for its successor`() async throws {
        let fixture = try await PushFixture.start()
        let old = try await fixture.accepted("match-1")
        try await fixture.retry(try await fixture.claimed("match-1", old), [Self.channel], due: 5_000)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try #require(try await fixture.due(lease).first)
        // A newer push supersedes it during the attempt. Then APNs refuses the attempt until a later time.
        let new = try await fixture.accepted("match-1")
        try await fixture.joinQueues(try await fixture.claimed("match-1", new), [Self.channel])
        try await fixture.settle(lease) {
            $0.postpone(
                waiting, due: 9_000_000_000_000, attempts: 2, reason: "TooManyRequests", mayBeDuplicate: false)
        }
        #expect(try await fixture.firstRetry("match-1") == 9_000_000_000_000)
        #expect(try await fixture.due(lease).first?.push == new)
        for id in [old, new] { #expect(try await fixture.ledger(id).pending == 1) }
    }

    @Test func `registrations behind a sweep are noted once and removed once handled`() async throws {
        let fixture = try await PushFixture.start()
        let name = try ActivityName("match-1")
        let (before, during) = (ChannelID.random(), ChannelID.random())
        try await fixture.track("match-1", before, token: 1, at: 1_795_000_000_000)
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", before, token: 1, at: 1_795_000_000_001)
        try await fixture.track("match-1", during, token: 2, at: 1_795_000_000_002)
        let sweeps = fixture.store.sweeps
        let noted = try await sweeps.arrivals(fixture.app, name, after: 0, limit: 10)
        #expect(noted.map(\.channel) == [during.stored], "the same token again is no news")
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.count(.delivered)
        guard case .ok(.sending, true, let leftovers) = try await fixture.settle(claim, page) else {
            throw Unexpected(what: "not settled")
        }
        #expect(leftovers.catchUpWaits)
        let tail = try await fixture.claim("match-1", id, .catchUp)
        // The channel gets another token while its page is in flight, so its catch-up is not finished.
        try await fixture.track("match-1", during, token: 3, at: 1_795_000_000_003)
        var caught = Settlement(range: ScanPosition(0)..<ScanPosition(1))
        caught.targets = 1
        caught.count(.delivered)
        noted.forEach { caught.caughtUp($0) }
        for _ in 0..<2 {
            guard case .ok(.sending, false, _) = try await fixture.settle(tail, caught) else {
                throw Unexpected(what: "the catch-up ended early")
            }
        }
        #expect(try await fixture.ledger(id).targets == 2, "the repeated page counts once")
        var again = Settlement(range: ScanPosition(1)..<ScanPosition(2))
        again.targets = 1
        again.count(.delivered)
        for arrival in try await sweeps.arrivals(fixture.app, name, after: 0, limit: 10) { again.caughtUp(arrival) }
        guard case .ok(.done, true, _) = try await fixture.settle(tail, again) else {
            throw Unexpected(what: "the catch-up did not end")
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 3 && ledger.delivered == 3 && ledger.expanded)
        try await fixture.track("match-1", during, token: 4, at: 1_795_000_000_004)
        #expect(try await sweeps.arrivals(fixture.app, name, after: 0, limit: 10).isEmpty, "no sweep runs")
    }

    @Test func `a dead token that the page and the catch up had is one target`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", channel, token: 1, at: 1_795_000_000_000)
        let prune = TokenRemoval(channel: channel.stored, token: [1], deadSince: nil)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 1
        page.remove(prune)
        _ = try await fixture.settle(claim, page)
        try await fixture.catchUp("match-1", id) { caught in
            caught.targets = 1
            caught.remove(prune)
        }
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 1 && ledger.pending == 1 && ledger.expanded, "until its removal is struck")
    }

    @Test func `a channel that the page and the catch-up queue is queued once`() async throws {
        let fixture = try await PushFixture.start()
        let channel = ChannelID.random()
        let id = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        // Another channel waits for the catch-up, so the catch-up is not over with this page.
        try await fixture.track("match-1", .random(), token: 1, at: 1_795_000_000_000)
        try await fixture.retry(claim, [channel.stored], due: 5_000)
        let tail = try await fixture.claim("match-1", id, .catchUp)
        var caught = Settlement(range: ScanPosition(0)..<ScanPosition(1))
        caught.targets = 1
        caught.retry(channel.stored, due: 6_000, attempts: 1)
        _ = try await fixture.settle(tail, caught)
        #expect(try await fixture.firstRetry("match-1") == 5_000)
        let ledger = try await fixture.ledger(id)
        #expect(ledger.targets == 2 && ledger.skipped == 1 && ledger.pending == 1)
        let lease = try await fixture.claimRetries("match-1")
        let waiting = try await fixture.due(lease)
        let first = try #require(waiting.first)
        try await fixture.settle(lease) { $0.finish(first, as: .delivered) }
        #expect(waiting.count == 1)
        #expect(try await fixture.due(lease).isEmpty, "the line is empty")
        #expect(try await fixture.ledger(id).pending == 0)
    }

    @Test func `cancelled in its catch up a push sets its name free`() async throws {
        let fixture = try await PushFixture.start()
        let id = try await fixture.accepted("match-1", alert: true)
        let next = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", .random(), token: 1, at: 1_795_000_000_000)
        _ = try await fixture.deliver(claim, targets: 1)
        let tail = try await fixture.claim("match-1", id, .catchUp)
        _ = try await fixture.store.pushes.cancel(fixture.app, id)
        guard
            case .ok(.cancelled, true, let leftovers) = try await fixture.settle(
                tail, Settlement(range: ScanPosition(0)..<ScanPosition(1)))
        else { throw Unexpected(what: "the catch-up goes on") }
        #expect(leftovers.nameWaits)
        #expect(try await fixture.claimed("match-1").lease.push == next)
    }

    @Test func `constant registrations do not block the name`() async throws {
        let fixture = try await PushFixture.start()
        let name = try ActivityName("match-1")
        let id = try await fixture.accepted("match-1", alert: true)
        _ = try await fixture.accepted("match-1", alert: true)
        let claim = try await fixture.claimed("match-1", id)
        try await fixture.track("match-1", .random(), token: 1, at: 1_795_000_000_000)
        _ = try await fixture.deliver(claim, targets: 0)
        let tail = try await fixture.claim("match-1", id, .catchUp)
        for number in 0..<40 as Range<UInt64> {
            try await fixture.track("match-1", .random(), token: UInt8(number), at: 1_795_000_000_000)
            var page = Settlement(range: ScanPosition(number)..<ScanPosition(number + 1))
            for arrival in try await fixture.store.sweeps.arrivals(fixture.app, name, after: 0, limit: 1) {
                page.caughtUp(arrival)
            }
            guard case .ok(_, false, _) = try await fixture.settle(tail, page) else { return }
        }
        Issue.record("the next push never had its turn")
    }
}

extension PushFixture {
    func track(_ name: String, _ channel: ChannelID, token: UInt8, at time: Int64) async throws {
        let registration = Registration(
            channel: channel, token: try #require(PushToken(bytes: [token])), registeredAt: time)
        #expect(try await store.registry.track(app, .activity(try ActivityName(name)), [registration]) == [.stored])
    }

    /// The keys of the name that hold unfinished work.
    func leftKeys(_ name: String) async throws -> [RedisKey] {
        let (keys, tag) = (store.keys, store.keys.tag(app, try ActivityName(name)))
        let kinds = [
            RedisKey(keys.tasksPrefix(tag) + "*"), keys.waitingChannels(tag), keys.retryQueues(tag), keys.catchUp(tag),
            keys.pendingRemovals(tag), keys.unswept(tag), keys.openRequests(tag),
        ]
        var left: [RedisKey] = []
        for kind in kinds { left += try await store.redis.keys(kind) }
        return left
    }
}
