import APNsWire
import Delivery
import Foundation
import LiveActivity
import Redis
import ServiceLifecycle
import Store
import TestSupport
import Testing

@testable import Fanout

/// Tests many faults at once: two workers, workers that read and die, answers of all kinds, cancellations, and a Redis
/// that forgets its scripts and is killed. At the end every push is final and every token is accounted for.
@Suite struct DisorderTests {
    @Test(.timeLimit(.minutes(5))) func `every push ends and every token is accounted for`() async throws {
        let fixture = try await WorkerFixture.start(keeps: true)
        let names = try (0..<6).map { try ActivityName("match-\($0)") }
        for (index, name) in names.enumerated() { try await fixture.follow(name, index == 0 ? 4_000 : 40 * index) }
        let transports = (0..<2).map { _ in ScriptedTransport { token, attempt in Self.answer(token, attempt) } }
        // Use a short time, because forty entries of dead workers must be claimed. A token that a lost lease
        // sends twice counts once.
        let groups = transports.map { fixture.group($0, claimAfter: .seconds(3)) }
        let reader = fixture.reader()
        let ids = try await withThrowingTaskGroup(of: [PushID].self) { tasks in
            for group in groups {
                tasks.addTask {
                    try await group.run(); return []
                }
            }
            let published = Signal("pushes are published")
            tasks.addTask { try await fixture.publishing(names, 90, published) }
            tasks.addTask {
                await fixture.dying(reader, 40); return []
            }
            tasks.addTask {
                for round in 1...3 {
                    await published.passed(25 * round)
                    if round == 2 {
                        fixture.server.signal(SIGKILL)
                        try await fixture.server.restart()
                    } else {
                        _ = try? await fixture.store.redis.everywhere("SCRIPT", "FLUSH")
                    }
                }
                return []
            }
            var ids: [PushID] = []
            for _ in 0..<3 { ids += try await tasks.next() ?? [] }
            for id in ids {
                let ledger = try await fixture.finished(id)
                if ledger.state == .done || ledger.state == .expired {
                    #expect(ledger.pending == 0 && ledger.expanded, "\(ledger)")
                }
                #expect(ledger.pending >= 0 && ledger.state != .failed, "\(ledger)")
            }
            for group in groups { await group.triggerGracefulShutdown() }
            try await tasks.waitForAll()
            return ids
        }
        reader.close()
        #expect(ids.count == 90)
        for id in ids {
            let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, id))
            #expect(ledger.pending == 0, "also of what was cancelled in mid-sweep: \(ledger)")
        }
        for name in names {
            let (begun, _) = try await fixture.store.sweeps.begin(
                fixture.app, name, expecting: .random(), owner: "after", lease: .seconds(1))
            guard case .idle = begun else {
                Issue.record("\(name) is still taken: \(begun)")
                continue
            }
        }
    }

    private static func answer(_ token: [UInt8], _ attempt: Int) -> PushOutcome {
        switch Int.random(in: 0..<100) {
        case 0..<5: .rejected(Rejection(status: 429, reason: .known(.tooManyRequests)))
        case 5..<7: .unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
        case 7..<8: .unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))
        case 8..<10: .rejected(Rejection(status: 410, reason: .known(.unregistered), timestamp: nowMilliseconds()))
        default: .accepted
        }
    }
}

extension WorkerFixture {
    fileprivate func follow(_ name: ActivityName, _ count: Int) async throws {
        let registrations = try (0..<count).map { number in
            Registration(
                channel: .random(), token: try #require(Self.token(number)), registeredAt: nowMilliseconds() - 60_000)
        }
        _ = try await store.registry.track(app, .activity(name), registrations)
    }

    /// Publishes of all kinds. Some are cancelled at once, and some a moment later.
    fileprivate func publishing(
        _ names: [ActivityName], _ count: Int, _ published: Signal
    ) async throws -> [PushID] {
        var ids: [PushID] = []
        for number in 0..<count {
            let publish = Publish(
                name: names[number % names.count], event: .update, audience: .all,
                priority: number % 3 == 0 ? .low : .high,
                alert: Int.random(in: 0..<2) == 0 ? RawJSON(checked: #"{"title":"t"}"#) : nil)
            let id = PushID.random()
            try await Self.untilRedisAnswers {
                _ = try await store.pushes.accept(
                    app, publish, id: id, payload: Array(#"{"aps":{"timestamp":0000000000}}"#.utf8),
                    timestampOffset: 20,
                    now: nowMilliseconds())
            }
            ids.append(id)
            published.move(to: ids.count)
            if Int.random(in: 0..<8) == 0, let id = ids.randomElement() {
                try await Self.untilRedisAnswers { _ = try await store.pushes.cancel(app, id, now: nowMilliseconds()) }
            }
            // Give the workers time, so that pushes are in all states when the faults come.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<50)))
        }
        return ids
    }

    /// Workers that read an entry and then vanish. Some begin its push before, and some settle a part of it.
    fileprivate func dying(_ reader: WorkReader, _ count: Int) async {
        for number in 0..<count {
            let owner = "dead-\(number)"
            let stream = WorkStream.allCases[number % 4]
            do {
                let (entries, _) = try await reader.read(
                    stream, [app], consumer: owner, count: 1, block: .milliseconds(50))
                guard let item = entries.first?.item else { continue }
                let claim: Claim
                if case .name = item.part {
                    let (begun, _) = try await store.sweeps.begin(
                        app, item.name, expecting: item.push, owner: owner, lease: .seconds(1))
                    guard case .claimed(let begun) = begun else { continue }
                    claim = begun
                } else {
                    guard
                        case .claimed(let taken) = try await store.sweeps.claim(item, owner: owner, lease: .seconds(1))
                    else { continue }
                    claim = taken
                }
                guard number % 2 == 0, claim.position < claim.lease.bounds.upperBound, claim.ahead.isEmpty else {
                    continue
                }
                let (page, next) = try await store.tokens.page(
                    app, .activity(item.name), from: claim.position, to: claim.lease.bounds.upperBound, limit: 10)
                var settlement = Settlement(range: claim.position..<next)
                settlement.targets = page.count
                settlement.count(.delivered, page.count)
                _ = try await store.sweeps.settle(claim.lease, for: .seconds(1), settlement)
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
