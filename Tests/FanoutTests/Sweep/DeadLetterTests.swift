import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests that dead letters are kept and can be retried as long as no token gets an older push.
@Suite struct DeadLetterTests {
    private static func rejected(_ reason: RejectionReason.Known) -> PushOutcome {
        .rejected(Rejection(status: reason.status, reason: .known(reason)))
    }

    private func letters(_ fixture: WorkerFixture) async throws -> [DeadLetter] {
        try await fixture.store.deadLetters.list(fixture.app, after: nil, limit: 10)
    }

    @Test func `tokens whose attempts are used up are delivered after a retry`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<50)
        let word = Word { $0 < 10 ? Self.rejected(.serviceUnavailable) : .accepted }
        let transport = word.transport()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let id = try await fixture.publish()
            let given = try await fixture.finished(id)
            #expect(given.delivered == 40 && given.failed == 10 && given.state == .done)
            let letter = try #require(try await letters(fixture).first)
            #expect(letter.push == id && letter.name == fixture.name && letter.stopped == nil)
            #expect(letter.reasons == ["ServiceUnavailable": 10] && letter.kept == 10)
            #expect(try await fixture.store.deadLetters.count(fixture.app) == 1)

            word.becomes { _ in .accepted }
            let retry = try await fixture.store.deadLetters.retry(fixture.app, id)
            #expect(retry == .taken(tokens: 10, isResumed: false))
            let ledger = try await fixture.finished(id)
            #expect(ledger.delivered == 50 && ledger.failed == 0 && ledger.pending == 0)
            #expect(try await letters(fixture).isEmpty)
            #expect(try await fixture.store.deadLetters.retry(fixture.app, id) == .none)
        }
    }

    /// The script that makes room in the queue cannot reach the list. The next retries of the name do.
    @Test func `what a full queue gives up is on the list`() async throws {
        let fixture = try await WorkerFixture.start()
        let channel = try #require(try await fixture.track(0..<1).first)
        var ids: [PushID] = []
        for number in 0..<66 {
            ids.append(try await fixture.publish())
            let claim = try await fixture.claimed(ids[number])
            var page = Settlement(range: claim.lease.bounds)
            if number == 0 {
                page.targets = 1
                page.retry(channel.stored, due: nowMilliseconds(), attempts: 1)
            } else {
                page.joinQueue(channel.stored, mostAttempts: 4)
            }
            _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), page)
        }
        try await fixture.store.queue.schedule(.retries(fixture.app, fixture.name, .high), due: nowMilliseconds())
        let transport = ScriptedTransport()
        let last = ids[65]
        try await fixture.withWorker(transport) { _ = try await fixture.finished(last) }
        let letters = try await letters(fixture)
        #expect(Set(letters.map(\.push)) == Set(ids[1...2]))
        #expect(letters.allSatisfy { $0.reasons == ["TooManyWaiting": 1] })
        #expect(transport.total == 64)
        guard case .newer = try await fixture.store.deadLetters.retry(fixture.app, ids[1]) else {
            Issue.record("an older push was sent again")
            return
        }
    }

    @Test func `nothing is retried that something newer followed`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5)
        let word = Word { _ in Self.rejected(.internalServerError) }
        try await fixture.withWorker(word.transport(), claimAfter: .seconds(60)) {
            let old = try await fixture.publish()
            _ = try await fixture.finished(old)
            word.becomes { _ in .accepted }
            let new = try await fixture.publish()
            _ = try await fixture.finished(new)
            #expect(try await fixture.store.deadLetters.retry(fixture.app, old) == .newer(new))
            #expect(try await letters(fixture).map(\.push) == [old], "it is kept until it is dropped")
            #expect(try await fixture.store.deadLetters.drop(fixture.app, old))
            #expect(try await letters(fixture).isEmpty)
            #expect(try await fixture.store.deadLetters.drop(fixture.app, old) == false)
            let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, old))
            #expect(ledger.failed == 5, "the ledger stays")
        }
    }

    @Test func `what was to be tried once is not kept`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<5)
        let word = Word { _ in Self.rejected(.serviceUnavailable) }
        try await fixture.withWorker(word.transport(), claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(try await fixture.publish(expiry: 0))
            #expect(ledger.failed == 5)
            #expect(try await letters(fixture).isEmpty)
        }
    }

    @Test(arguments: [50, 6_000])
    func `a stopped push goes on where it stopped`(count: Int) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<count)
        let word = Word { _ in .accepted }
        let transport = word.transport()
        let wrong = count / 5 * 2
        word.becomes { $0 % 5 < 2 ? Self.rejected(.topicDisallowed) : .accepted }
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let id = try await fixture.publish()
            let stopped = try await fixture.finished(id)
            #expect(stopped.state == .failed && stopped.failed > 0 && stopped.failed <= wrong)
            // The other shards still finish and report how far they came.
            try await fixture.swept(id)
            let letter = try #require(try await letters(fixture).first)
            #expect(letter.stopped == "TopicDisallowed" && letter.kept > 0)

            word.becomes { _ in .accepted }
            guard case .taken(_, true) = try await fixture.store.deadLetters.retry(fixture.app, id) else {
                Issue.record("refused")
                return
            }
            let ledger = try await fixture.finished(id)
            #expect(ledger.state == .done && ledger.pending == 0, "\(ledger)")
            #expect(ledger.targets == count && ledger.delivered == count, "\(ledger)")
            #expect(transport.counts.count == count)
        }
    }

    @Test func `what waited when a push was stopped is tried again too`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<40)
        let word = Word { _ in .accepted }
        word.becomes { number in
            switch number {
            // Their next attempt is far away, so they still wait when the push is stopped and when it is retried.
            case 0..<10: .rejected(Rejection(status: 429, reason: .known(.tooManyRequests), retryAfter: 600))
            case 10..<20: .rejected(Rejection(status: 400, reason: .known(.payloadEmpty)))
            default: .accepted
            }
        }
        try await fixture.withWorker(word.transport(), claimAfter: .seconds(60)) {
            let id = try await fixture.publish()
            let stopped = try await fixture.finished(id)
            #expect(stopped.state == .failed && stopped.failed == 20 && stopped.delivered == 20)
            word.becomes { _ in .accepted }
            let retry = try await fixture.store.deadLetters.retry(fixture.app, id)
            #expect(retry == .taken(tokens: 20, isResumed: true))
            try await fixture.retryNow()
            let ledger = try await fixture.finished(id)
            #expect(ledger.state == .done && ledger.delivered == 40 && ledger.failed == 0, "\(ledger)")
        }
    }

    @Test func `a task that kills its owners is kept and blocks nobody`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<30)
        let id = try await fixture.publish()
        let next = try await fixture.publish()
        for number in 0...8 {
            _ = try await fixture.claimed(id, owner: "dead-\(number)", lease: .zero)
        }
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) {
            let poisoned = try await fixture.finished(id)
            #expect(poisoned.state == .failed && poisoned.errors == ["PoisonTask": 1])
            #expect(try await fixture.finished(next).delivered == 30)
            let letter = try #require(try await letters(fixture).first)
            #expect(letter.push == id && letter.stopped == "PoisonTask")
            #expect(try await fixture.store.deadLetters.retry(fixture.app, id) == .newer(next))
        }
    }

    @Test func `a list is read page by page and forgets what has no record`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2)
        let word = Word { _ in Self.rejected(.internalServerError) }
        try await fixture.withWorker(word.transport(), claimAfter: .seconds(60)) {
            var ids: [PushID] = []
            for _ in 0..<3 {
                let id = try await fixture.publish()
                _ = try await fixture.finished(id)
                ids.insert(id, at: 0)
            }
            // A worker died between listing a push and settling it.
            try await fixture.store.redis.send(
                RedisCommand(
                    "ZADD", fixture.store.keys.deadIndex(fixture.app), "1", .string("\(PushID.random()) match-1")))
            let deadLetters = fixture.store.deadLetters
            #expect(try await deadLetters.list(fixture.app, after: nil, limit: 2).map(\.push) == Array(ids.prefix(2)))
            #expect(try await deadLetters.list(fixture.app, after: ids[1], limit: 2).map(\.push) == [ids[2]])
            #expect(try await deadLetters.count(fixture.app) == 3)
            #expect(try await deadLetters.list(try AppKey("other"), after: ids[1], limit: 2).isEmpty)
        }
    }
}
