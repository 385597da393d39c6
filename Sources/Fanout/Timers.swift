import LiveActivity
import Logging
import Store

/// What a worker does by the clock. Every worker does all of it; the scripts see to it that nothing is done twice.
struct Timers: Sendable {
    let store: Store
    let apps: [AppKey]
    let options: WorkerOptions
    let pools: [Pool]
    let leases: LeaseKeeper
    let logger: Logger

    /// Until cancelled. Work that a claim brings is waited for before it returns.
    func run(consumer: String) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await every(options.claimAfter / 3) { await renew(consumer: consumer) } }
            group.addTask {
                await every(.milliseconds(250)) {
                    await quietly { () async throws(StoreError) in _ = try await store.queue.moveDue(now: Clocks.now(), limit: 256) }
                }
            }
            group.addTask {
                await every(.seconds(10)) {
                    await quietly { () async throws(StoreError) in
                        let now = Clocks.now()
                        let woken = try await store.queue.reconcile(before: now - 30_000, now: now, limit: 1_000)
                        if woken > 0 { logger.info("names that had waited were woken", metadata: ["names": "\(woken)"]) }
                    }
                }
            }
            for pool in pools {
                group.addTask {
                    await withDiscardingTaskGroup { taken in
                        await every(options.claimAfter / 2) {
                            await pool.claim(consumer: consumer, idle: options.claimAfter, in: &taken)
                        }
                    }
                }
            }
        }
    }

    /// Leases on the name's slot and idle times in the streams: both say that this worker lives.
    private func renew(consumer: String) async {
        let (held, entries) = leases.inHand
        for (lease, clock) in held {
            let asked = Clocks.sinceBoot()
            await quietly { () async throws(StoreError) in
                if try await store.sweeps.renew(lease, for: options.claimAfter) {
                    clock.extend(askedAt: asked)
                } else {
                    clock.lose()
                }
            }
        }
        if entries.isEmpty { return }
        await quietly { () async throws(StoreError) in try await store.queue.renew(entries, consumer: consumer) }
    }

    private func every(_ interval: Duration, _ body: () async -> Void) async {
        while !Task.isCancelled {
            await body()
            try? await Task.sleep(for: interval * Double.random(in: 0.9..<1.1))
        }
    }

    private func quietly(_ body: () async throws(StoreError) -> Void) async {
        do throws(StoreError) { try await body() } catch { logger.debug("a timer found Redis away: \(error)") }
    }
}
