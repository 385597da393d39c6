import LiveActivity
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests how a worker renews its leases.
@Suite struct LeaseKeeperTests {
    private func leases(_ count: Int) throws -> [Lease] {
        let (app, name) = (try AppKey("shop"), try ActivityName("match-1"))
        return (0..<count).map { index in
            Lease(
                app: app, name: name, push: .random(), part: .shard(index: index, count: count), owner: "w1", epoch: 1)
        }
    }

    /// No renewal returns before all of them have begun.
    @Test func `leases are renewed together`() async throws {
        let keeper = LeaseKeeper()
        let count = 8
        for lease in try leases(count) {
            _ = keeper.hold(lease, askedAt: bootClock(), for: .seconds(600))
        }
        let begun = Signal("renewals begun")
        let arrived = Mutex(0)
        await keeper.renewAll { _ in
            arrived.withLock {
                $0 += 1
                begun.move(to: $0)
            }
            await begun.passed(count, within: .seconds(10))
            return true
        }
        #expect(begun.count == count)
    }

    @Test func `a lease lives on as Redis answers`() async throws {
        for (answer, isLive) in [(true, true), (false, false), (nil, false)] as [(Bool?, Bool)] {
            let keeper = LeaseKeeper()
            // It has lapsed on the worker's clock, so only a renewal can revive it.
            let held = keeper.hold(try leases(1)[0], askedAt: bootClock() - 600_000, for: .seconds(600))
            await keeper.renewAll { _ in answer }
            #expect(held.isLive == isLive, "\(String(describing: answer))")
        }
        let held = HeldLease(try leases(1)[0], askedAt: bootClock(), duration: .seconds(600))
        await held.renew { nil }
        #expect(held.isLive, "an answer that did not come ends nothing")
        await held.renew { false }
        #expect(!held.isLive)
    }

    /// Several pages of one lease may be settled at once, so an older answer may be read last.
    @Test func `a lease that another worker has stays lost`() async throws {
        let held = HeldLease(try leases(1)[0], askedAt: bootClock(), duration: .seconds(600))
        await held.renew { false }
        await held.renew { true }
        #expect(!held.isLive)
    }

    @Test func `a settlement that came too late ends its lease`() async throws {
        let log = Logger.quiet
        let late: [@Sendable (HeldLease) async -> Void] = [
            { _ = await $0.repeatWhileLive(log) { () async throws(StoreError) in Settled.stale } },
            { _ = await $0.repeatWhileLive(log) { () async throws(StoreError) in Settled.gone } },
            { _ = await $0.repeatWhileLive(log) { () async throws(StoreError) in RetrySettled.stale } },
        ]
        for settle in late {
            let held = HeldLease(try leases(1)[0], askedAt: bootClock(), duration: .seconds(600))
            await settle(held)
            #expect(!held.isLive)
        }
    }
}
