import APNsWire
import Delivery
import LiveActivity
import Redis
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests a wrong key, topic or environment, which makes every token look dead. No token may be removed because of it.
@Suite struct GuardStoryTests {
    private static func refusing(_ reason: RejectionReason.Known) -> PushOutcome {
        .rejected(
            Rejection(
                status: reason.status, reason: .known(reason), timestamp: reason.status == 410 ? nowMilliseconds() : nil
            ))
    }

    private func tokens(_ fixture: WorkerFixture) async throws -> Int {
        try await fixture.store.names.info(fixture.app, fixture.name)?.tokens ?? 0
    }

    private func kinds(_ fixture: WorkerFixture) async throws -> [Alarm.Kind] {
        try await fixture.store.alarms.list([fixture.app]).map(\.kind)
    }

    @Test(arguments: [RejectionReason.Known.badDeviceToken, .deviceTokenNotForTopic])
    func `ten thousand tokens called wrong are quarantined and delivered after their release`(
        reason: RejectionReason.Known
    )
        async throws
    {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10_000)
        let word = Word(Self.refusing(reason))
        let transport = word.transport()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(try await fixture.publish())
            #expect(first.state == .done && first.targets == 10_000)
            #expect(first.pruned == 0 && first.failed == 10_000)
            #expect(first.errors[reason.rawValue] == 10_000 && first.errors["Quarantined"] == 10_000)
            #expect(try await tokens(fixture) == 10_000)
            #expect(try await kinds(fixture) == [.pruneGuard])
            let listed = try await fixture.store.quarantine.list(fixture.app, limit: 10)
            #expect(listed.map(\.tokens) == [10_000] && listed[0].reasons == [reason.rawValue])

            // Nothing is sent to them, even when APNs accepts pushes again.
            word.becomes { _ in .accepted }
            let second = try await fixture.finished(try await fixture.publish())
            #expect(second.failed == 10_000 && second.errors == ["Quarantined": 10_000])
            #expect(transport.total == 10_000)

            // A channel that has another token now is the exception.
            let rotated = try await fixture.store.tokens.page(
                fixture.app, .activity(fixture.name), from: .start, to: .end, limit: 1
            ).page
            let channel = try #require(ChannelID(stored: rotated.channel(0)))
            try await fixture.track(20_000..<20_001, as: [channel])
            let third = try await fixture.finished(try await fixture.publish())
            #expect(third.delivered == 1 && third.failed == 9_999)
            #expect(try await fixture.store.quarantine.list(fixture.app, limit: 10).map(\.tokens) == [9_999])

            #expect(try await fixture.store.quarantine.release(fixture.app, .activity(fixture.name)).released == 9_999)
            #expect(try await kinds(fixture) == [])
            let last = try await fixture.finished(try await fixture.publish())
            #expect(last.delivered == 10_000)
        }
    }

    @Test func `ten thousand 410s are pruned with an alarm`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10_000)
        let transport = Word(Self.refusing(.unregistered)).transport()
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(try await fixture.publish())
            #expect(ledger.pruned == 10_000 && ledger.failed == 0)
            #expect(try await tokens(fixture) == 0)
            #expect(try await kinds(fixture) == [.manyUnregistered])
        }
    }

    @Test func `a few dead among many are pruned without a word`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<2_000)
        let transport = ScriptedTransport { token, _ in
            WorkerFixture.number(token) % 5 == 0 ? Self.refusing(.badDeviceToken) : .accepted
        }
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(try await fixture.publish())
            #expect(ledger.pruned == 400 && ledger.delivered == 1_600)
            #expect(try await kinds(fixture) == [])
        }
    }

    @Test func `small pushes trip the guard of their app together`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<60)
        let word = Word(Self.refusing(.badDeviceToken))
        try await fixture.withWorker(word.transport(), claimAfter: .seconds(60)) {
            var pruned = 0
            var failed = 0
            for _ in 0..<5 {
                let ledger = try await fixture.finished(try await fixture.publish())
                #expect(ledger.targets == 60 && ledger.pruned + ledger.failed == 60)
                pruned += ledger.pruned
                failed += ledger.failed
                // Devices register again, but this changes nothing about a wrong key.
                let again = channels.enumerated().compactMap { number, channel in
                    WorkerFixture.token(number).map {
                        Registration(channel: channel, token: $0, registeredAt: nowMilliseconds())
                    }
                }
                _ = try await fixture.store.registry.track(fixture.app, .activity(fixture.name), again)
            }
            #expect(pruned == 180, "up to 199 answers they are believed")
            #expect(failed == 120)
            #expect(try await kinds(fixture) == [.pruneGuard])
            #expect(try await fixture.store.quarantine.discard(fixture.app, nil).pruned == 60)
            #expect(try await tokens(fixture) == 0)
            #expect(try await kinds(fixture) == [])
        }
    }

    @Test func `a death between settling and quarantine destroys nothing`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<300)
        let id = try await fixture.publish()
        try await fixture.store.queue.prepare([fixture.app])
        let reader = fixture.reader()
        _ = try await reader.read(.namesHigh, [fixture.app], consumer: "dead", count: 1, block: .seconds(1))
        reader.close()
        try await fixture.ageEntries(.namesHigh)
        let claim = try await fixture.claimed(id, lease: .zero)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 300
        page.errors = ["BadDeviceToken": 300]
        for (number, channel) in channels.enumerated() {
            let token = try #require(WorkerFixture.token(number)).bytes
            page.remove(TokenRemoval(channel: channel.stored, token: token, deadSince: nil, reason: "BadDeviceToken"))
        }
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .zero, page)
        // Its worker dies here.
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.state == .done && ledger.failed == 300 && ledger.pruned == 0)
        #expect(try await tokens(fixture) == 300)
        #expect(try await kinds(fixture) == [.pruneGuard])
        #expect(transport.total == 0)
    }

    @Test func `a token that waits for its retry is judged like the others`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<400)
        let transport = ScriptedTransport { _, attempt in
            attempt == 1
                ? .rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
                : Self.refusing(.badDeviceToken)
        }
        try await fixture.withWorker(transport, claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(try await fixture.publish())
            #expect(ledger.pruned <= 199 && ledger.pruned + ledger.failed == 400)
            #expect(try await tokens(fixture) == 400 - ledger.pruned)
            #expect(try await kinds(fixture) == [.pruneGuard])
        }
    }

    @Test func `a token of the other environment is found once and remembered`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<40)
        func server(_ takes: @escaping @Sendable (Int) -> Bool) -> ScriptedTransport {
            ScriptedTransport { token, _ in
                takes(WorkerFixture.number(token)) ? .accepted : Self.refusing(.badDeviceToken)
            }
        }
        let production = server { $0 < 20 }
        let sandbox = server { (20..<30).contains($0) }
        try await fixture.withWorker(production, other: sandbox, claimAfter: .seconds(60)) {
            let first = try await fixture.finished(try await fixture.publish())
            #expect(first.delivered == 30 && first.pruned == 10, "bad in both: dead by rule")
            #expect(production.total == 40 && sandbox.total == 20, "\(production.total), \(sandbox.total)")
            let second = try await fixture.finished(try await fixture.publish())
            #expect(second.delivered == 30)
            #expect(production.total == 60 && sandbox.total == 30, "each where it lives")
        }
    }

    @Test func `another environment that refuses the key halts nothing`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<20)
        let production = ScriptedTransport { token, _ in
            WorkerFixture.number(token) < 15 ? .accepted : Self.refusing(.badDeviceToken)
        }
        let sandbox = ScriptedTransport { _, attempt in
            attempt == 1 ? Self.refusing(.badEnvironmentKeyInToken) : .accepted
        }
        try await fixture.withWorker(production, other: sandbox, claimAfter: .seconds(60)) {
            let ledger = try await fixture.finished(try await fixture.publish())
            #expect(ledger.delivered == 20 && ledger.retries == 5, "\(ledger)")
            #expect(try await kinds(fixture) == [.otherEnvironment])
        }
    }
}
