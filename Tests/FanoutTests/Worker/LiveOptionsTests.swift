import APNsWire
import Delivery
import LiveActivity
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Options that a reload brings to a worker, each with the default beside it. Suites of their subjects have the others:
/// the fixture brings all of them by a reload.
@Suite struct LiveOptionsTests {
    /// Publishes to tokens of which APNs calls the first `wrong` ones wrong.
    /// - Parameter earlier: how many tokens it called wrong half an hour ago
    private func judged(
        _ tokens: Int, wrong: Int, earlier: Int = 0, live: (inout WorkerOptions) -> Void
    ) async throws -> (pruned: Int, quarantined: Int) {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<tokens)
        if earlier > 0 {
            _ = try await fixture.store.tokenVerdicts.add(
                AppPlatform(fixture.app, .ios),
                [(age: 30, counts: TokenVerdictCounts(answers: earlier, dead: earlier))],
                over: TokenVerdictSpan(window: 60, memory: 60, least: 1))
        }
        let transport = ScriptedTransport { token, _ in
            WorkerFixture.number(token) < wrong
                ? .rejected(Rejection(status: 400, reason: .known(.badDeviceToken))) : .accepted
        }
        let ledger = try await fixture.withWorker(transport, live: live) {
            try await fixture.finished(try await fixture.publish())
        }
        #expect(ledger.delivered == tokens - wrong)
        return (ledger.pruned, ledger.errors["Quarantined"] ?? 0)
    }

    @Test func `the fewest answers of the prune guard`() async throws {
        #expect(try await judged(10, wrong: 10) { _ in } == (10, 0))
        #expect(try await judged(10, wrong: 10) { $0.pruneGuard.answers = 10 } == (0, 10))
    }

    @Test func `the share of the prune guard`() async throws {
        #expect(try await judged(300, wrong: 30) { _ in } == (30, 0))
        #expect(try await judged(300, wrong: 30) { $0.pruneGuard.share = 0.1 } == (0, 30))
    }

    @Test func `the time over which the prune guard counts all answers`() async throws {
        // Answers before the window do not count.
        let shortest = Duration.seconds(60)
        #expect(try await judged(10, wrong: 10, earlier: 200) { $0.pruneGuard.memory = shortest } == (10, 0))
        #expect(
            try await judged(10, wrong: 10, earlier: 200) {
                ($0.pruneGuard.memory, $0.pruneGuard.window) = (shortest, .seconds(3_600))
            } == (0, 10))
    }

    @Test func `the time over which the prune guard counts the last answers`() async throws {
        #expect(try await judged(10, wrong: 10, earlier: 200) { _ in } == (0, 10))
        #expect(try await judged(10, wrong: 10, earlier: 200) { $0.pruneGuard.memory = .seconds(600) } == (10, 0))
    }

    @Test func `the most pushes of an app`() async throws {
        let fixture = try await WorkerFixture.start()
        // A step looks at an hour, and removes all of it that may go.
        for number in 0..<4 {
            let old = nowMilliseconds() - Int64(30 - number) * 3_600_000
            let id = try await fixture.publish(
                id: .ordered(at: old, index: 0), to: try ActivityName("order-\(number)"), now: old)
            _ = try await fixture.store.pushes.cancel(fixture.app, id)
        }
        #expect(try await fixture.store.pushes.kept(fixture.app) == 4)
        try await fixture.withWorker(ScriptedTransport(), live: { $0.mostPushes = 3 }) {
            try await eventually("the oldest push is removed") {
                try await fixture.store.pushes.kept(fixture.app) == 3
            }
        }
    }

    @Test(arguments: [(nil, PushState.done), (2, PushState.failed)])
    func `the owners that may die over a task`(_ most: Int?, _ state: PushState) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let id = try await fixture.publish()
        for number in 0..<3 { _ = try await fixture.claimed(id, owner: "dead-\(number)", lease: .zero) }
        let ledger = try await fixture.withWorker(
            ScriptedTransport(), live: { $0.maxClaims = most ?? $0.maxClaims }
        ) { try await fixture.finished(id) }
        #expect(ledger.state == state)
    }

    @Test(arguments: [(nil, 0), (Duration.seconds(1_800), 4)])
    func `the time after which a start token is stale`(_ time: Duration?, _ stale: Int) async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.offer(10..<14, hoursAgo: 1)
        let ledger = try await fixture.withWorker(
            ScriptedTransport(), live: { $0.startTokensStaleAfter = time ?? $0.startTokensStaleAfter }
        ) { try await fixture.finished(try await fixture.begin()) }
        #expect(ledger.delivered == 4 && ledger.stale == stale)
    }
}
