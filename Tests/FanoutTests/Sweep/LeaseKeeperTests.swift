import LiveActivity
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store
@testable import StoreDeliveries

/// Tests how a worker renews its leases.
@Suite struct LeaseKeeperTests {
    private let clock = TestClock()

    private func keeper() -> LeaseKeeper { LeaseKeeper { [clock] in clock.now } }

    private func held() throws -> HeldLease {
        keeper().hold(try leases(1)[0], askedAt: clock.now, for: .seconds(10))
    }

    private func leases(_ count: Int) throws -> [Lease] {
        let (app, name) = (try AppKey("shop"), try ActivityName("match-1"))
        return (0..<count).map { index in
            Lease(
                app: app, name: name, push: .random(), part: .shard(index: index, count: count), owner: "w1", epoch: 1)
        }
    }

    /// No renewal returns before all of them have begun.
    @Test func `leases are renewed together`() async throws {
        let keeper = keeper()
        let count = 8
        for lease in try leases(count) {
            _ = keeper.hold(lease, askedAt: clock.now, for: .seconds(10))
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
            let keeper = keeper()
            let held = keeper.hold(try leases(1)[0], askedAt: clock.now, for: .seconds(10))
            clock.move(by: .seconds(9))
            #expect(held.isLive)
            // It expires on the worker's clock, so only a renewal can revive it.
            clock.move(by: .seconds(1))
            #expect(!held.isLive)
            await keeper.renewAll { _ in answer }
            #expect(held.isLive == isLive, "\(String(describing: answer))")
        }
        let held = try held()
        await held.renew { nil }
        #expect(held.isLive, "an answer that did not come ends nothing")
        await held.renew { false }
        #expect(!held.isLive)
    }

    /// Several pages of one lease may be settled at once, so an older answer may be read last.
    @Test func `a lease that another worker has stays lost`() async throws {
        let held = try held()
        await held.renew { false }
        await held.renew { true }
        #expect(!held.isLive)
    }

    /// Redis answers a renewal with no if it comes after the last settlement. Then the entry of a finished push must
    /// not wait for another worker.
    @Test(arguments: [true, false])
    func `a renewal beside the last settlement takes nothing from it`(readsRenewalFirst: Bool) async throws {
        let held = try held()
        _ = await held.repeatWhileLive(.quiet) { () async throws(StoreError) in
            if readsRenewalFirst { await held.renew { false } }
            return Settled.ok(state: .done, isFinished: true, Leftovers(unswept: 0, hasPendingRemovals: false))
        }
        if !readsRenewalFirst { await held.renew { false } }
        let followUp: Bool? = await held.repeatWhileLive(.quiet) { true }
        #expect(followUp == true)
        clock.move(by: .seconds(10))
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
            let held = try held()
            await settle(held)
            #expect(!held.isLive)
        }
    }
}
