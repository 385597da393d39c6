import APNsWire
import Delivery
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests expired leases: of workers that stall, and of workers that die again and again with one task.
@Suite struct LapseTests {
    @Test func `a task that owner after owner dies over is given up and blocks nobody`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let poison = try await fixture.publish(label: "poison")
        let good = try await fixture.publish(label: "good")
        for number in 0..<9 {
            let claim = try await fixture.claimed(poison, owner: "dead-\(number)", lease: .zero)
            #expect(claim.lapses != .tooMany)
        }
        let transport = ScriptedTransport()
        let (failed, done) = try await fixture.withWorker(transport) {
            (try await fixture.finished(poison), try await fixture.finished(good))
        }
        #expect(failed.state == .failed && failed.errors == ["PoisonTask": 1] && failed.pending == 0)
        #expect(done.state == .done && done.delivered == 10 && transport.taken(0) == ["good"])
    }

    @Test func `waiting channels that owner after owner dies over are given up`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<2)
        let id = try await fixture.publish()
        let claim = try await fixture.claimed(id)
        var page = Settlement(range: claim.lease.bounds)
        page.targets = 2
        for channel in channels { page.retry(channel.stored, due: nowMilliseconds(), attempts: 1) }
        _ = try await fixture.store.sweeps.settle(claim.lease, for: .seconds(10), page)
        for number in 0..<9 {
            guard
                case .claimed(_, _, let lapses) = try await fixture.store.sweeps.claimRetries(
                    fixture.app, fixture.name, owner: "dead-\(number)", lease: .zero), lapses != .tooMany
            else { throw WorkerFixtureError(description: "not claimed") }
        }
        try await fixture.store.queue.schedule(.retries(fixture.app, fixture.name, .high), due: nowMilliseconds())
        let transport = ScriptedTransport()
        let ledger = try await fixture.withWorker(transport) { try await fixture.finished(id) }
        #expect(ledger.failed == 2 && ledger.errors == ["PoisonTask": 2] && transport.total == 0)
    }

    /// Requests that may have left before the crash are counted, because nobody knows which ones did. Others are not.
    @Test func `the pages of an owner that died may be duplicates`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = try await fixture.track(0..<5)
        let id = try await fixture.publish()
        _ = try await fixture.claimed(id, owner: "dead", lease: .zero)
        let busy = Rejection(status: 503, reason: .known(.serviceUnavailable), retryAfter: 300)
        let resent = try await fixture.withWorker(ScriptedTransport { _, _ in .rejected(busy) }) {
            try await eventually("the page is settled") {
                try await fixture.store.pushes.ledger(fixture.app, id)?.targets == channels.count
            }
            return try #require(try await fixture.store.pushes.ledger(fixture.app, id))
        }
        #expect(resent.retries == 2 * channels.count && resent.duplicatesPossible == channels.count, "\(resent)")
        try await fixture.retryNow()
        guard
            case .claimed(_, _, .none) = try await fixture.store.sweeps.claimRetries(
                fixture.app, fixture.name, owner: "dead too", lease: .zero)
        else { throw WorkerFixtureError(description: "not claimed") }
        let ledger = try await fixture.withWorker(ScriptedTransport()) { try await fixture.finished(id) }
        #expect(ledger.delivered == channels.count, "\(ledger)")
        #expect(ledger.retries == 3 * channels.count && ledger.duplicatesPossible == 2 * channels.count, "\(ledger)")
    }

    @Test func `progress and handing back are no lapses`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<10)
        let id = try await fixture.publish()
        for number in 0..<30 {
            let claim = try await fixture.claimed(id, owner: "w\(number)", lease: .zero)
            #expect(claim.lapses != .tooMany)
            if number % 7 == 0 {
                let from = ScanPosition(UInt64(number) << 20)
                let page = Settlement(range: from..<ScanPosition(UInt64(number + 7) << 20))
                _ = try await fixture.store.sweeps.settle(claim.lease, for: .zero, page)
            } else if number % 2 == 0 {
                try await fixture.store.sweeps.giveBack(claim.lease)
            }
        }
    }

    /// The worker was stopped and resumes. Its pages in flight return, but another worker has its lease.
    @Test func `a worker that lost its lease begins nothing more`() async throws {
        let fixture = try await WorkerFixture.start()
        try await fixture.track(0..<1_400)
        let transport = ScriptedTransport()
        transport.hold()
        let id = try await fixture.publish()
        let ledger = try await fixture.withWorker(transport, claimAfter: .seconds(10), pageSize: 200) {
            await transport.holding(pages: 4)
            let other = try await fixture.robbed(id)
            transport.letGo()
            // It has released the entry by the time it claims it again.
            try await fixture.takenOver(times: 2)
            #expect(transport.pages == 4)
            #expect(try await fixture.store.pushes.ledger(fixture.app, id)?.targets == 0, "nor did it settle anything")
            try await fixture.store.sweeps.giveBack(other.lease)
            return try await fixture.finished(id)
        }
        #expect(ledger.delivered == 1_400 && ledger.targets == 1_400)
    }
}

extension WorkerFixture {
    /// Takes the lease of the push's only shard from a worker that is alive.
    func robbed(_ id: PushID) async throws -> Claim {
        for _ in 0..<1_000 {
            try await endLease(id)
            let (begun, _) = try await store.sweeps.begin(
                app, name, expecting: id, owner: "other", lease: .seconds(600))
            if case .claimed(let claim) = begun { return claim }
            // The worker renewed its lease in between, so try again.
        }
        throw WorkerFixtureError(description: "the lease could not be taken")
    }
}
