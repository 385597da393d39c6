import LiveActivity
import Logging
import ServiceLifecycle
import Store
import Synchronization

/// The work that a worker does by the clock. Every worker does all of it, and the scripts make sure that nothing is
/// done twice.
struct Timers: Sendable {
    let store: Store
    let apps: [AppKey]
    let options: WorkerOptions
    let pools: [Pool]
    let leases: LeaseKeeper
    let drain: Drain
    let broadcastChannels: BroadcastChannelKeeper
    let ends: EndTimer
    let verdictLog: VerdictLog
    let logger: Logger

    /// Renews the worker's leases and entries until cancelled. It runs longer than all else, because pages in flight
    /// are settled under these leases.
    func renewLeases(consumer: String) async {
        while !Task.isCancelled {
            await renew(consumer: consumer)
            try? await Task.sleep(for: Self.jittered(options.claimAfter / 3))
        }
    }

    /// Runs until the drain begins. Returns when the entries that it claimed are processed.
    func run(consumer: String) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await watch() }
            group.addTask {
                await every(ServerTime.interval) {
                    await quietly { () async throws(StoreError) in try await store.time.measure() }
                }
            }
            group.addTask {
                await every(.seconds(10)) {
                    await quietly { () async throws(StoreError) in
                        let now = store.time.now()
                        let found = try await store.queue.reconcile(apps, before: now - 30_000, now: now, limit: 256)
                        if found.woken > 0 {
                            logger.info("woke names whose entries were lost", metadata: ["names": "\(found.woken)"])
                        }
                        if found.dropped > 0 {
                            logger.error(
                                "dropped names in an unknown format", metadata: ["names": "\(found.dropped)"])
                        }
                    }
                }
            }
            group.addTask { await every(.seconds(30)) { await shareVerdicts() } }
            group.addTask {
                var tidying = Tidying(store)
                await every(.seconds(10)) {
                    for app in apps { await quietly { () async throws(StoreError) in try await tidying.run(app) } }
                }
            }
            group.addTask {
                await every(.seconds(600)) {
                    await quietly { () async throws(StoreError) in
                        try await store.queue.forgetDeadWorkers(apps, silence: .seconds(3_600))
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

    /// Shared by tasks, because each chore ends in a task of its own.
    private final class SharedPlan: Sendable {
        let state = Mutex(TimerPlan())
        /// Apps whose names are all in the timer of automatic ends.
        let ending = Mutex<[AppKey]>([])
    }

    /// Asks Redis what is due next, begins what is due, and sleeps until the next is.
    private func watch() async {
        let plan = SharedPlan()
        let wakeup = store.queue.wakeup
        let sleeper = wakeup.add()
        defer { wakeup.remove(sleeper) }
        await withDiscardingTaskGroup { group in
            group.addTask {
                await adoptEnds()
                plan.ending.withLock { $0 = ends.apps }
                wakeup.ring(sleeper, .min)
            }
            while !drain.isOn, !Task.isCancelled {
                wakeup.listen(sleeper)
                var next: NextDue?
                await quietly { () async throws(StoreError) in
                    next = try await store.queue.nextDue(apps, ending: plan.ending.withLock(\.self))
                }
                let (begin, wake) = plan.state.withLock { $0.look(next, now: store.time.now()) }
                for chore in begin {
                    group.addTask {
                        await run(chore)
                        let now = store.time.now()
                        plan.state.withLock { $0.ended(chore, now: now) }
                        wakeup.ring(sleeper, now + chore.pause)
                    }
                }
                let time = wake + .random(in: 0..<TimerPlan.stagger)
                await cancelWhenGracefulShutdown { await wakeup.sleep(sleeper, until: time, by: store.time.now) }
            }
        }
    }

    private func run(_ chore: TimerPlan.Chore) async {
        switch chore {
        case .tasks:
            await quietly { () async throws(StoreError) in
                let found = try await store.queue.moveDue(apps, now: store.time.now(), limit: 256)
                for (app, entries) in found.unreadable {
                    logger.error(
                        "dropped timer entries in an unknown format",
                        metadata: ["app": "\(app)", "entries": "\(entries)"])
                }
            }
        case .schedules: await ScheduleTimer(store: store, apps: apps, logger: logger).run()
        case .broadcastChannels(let app): await broadcastChannels.tick(app)
        case .ends: await ends.run()
        }
    }

    /// Runs once, as soon as Redis answers.
    private func adoptEnds() async {
        while !drain.isOn, !Task.isCancelled, await !ends.begin() {
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.jittered(.seconds(1))) }
        }
    }

    /// Renews the leases in the names' slots and the idle times in the streams. Both show that this worker lives.
    private func renew(consumer: String) async {
        await leases.renewAll { lease in
            var isRenewed: Bool?
            await quietly { () async throws(StoreError) in
                isRenewed = try await store.sweeps.renew(lease, for: options.claimAfter)
            }
            return isRenewed
        }
        let entries = leases.entries
        if entries.isEmpty { return }
        await quietly { () async throws(StoreError) in try await store.queue.renew(entries, consumer: consumer) }
    }

    /// Adds the worker's counts to the fleet's. The fleet needs the good answers too before APNs calls a token dead.
    private func shareVerdicts() async {
        for app in verdictLog.apps {
            let now = store.time.now()
            let seen = verdictLog.take(app, now: now, window: options.pruneGuard.windowMinutes)
            if seen.isEmpty { continue }
            do throws(StoreError) {
                _ = try await store.tokenVerdicts.add(app, seen, over: options.pruneGuard.span)
            } catch {
                verdictLog.putBack(app, seen, now: now)
            }
        }
    }

    private func every(_ interval: Duration, _ body: () async -> Void) async {
        while !drain.isOn, !Task.isCancelled {
            await body()
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.jittered(interval)) }
        }
    }

    private static func jittered(_ interval: Duration) -> Duration { interval * Double.random(in: 0.9..<1.1) }

    private func quietly(_ body: () async throws(StoreError) -> Void) async {
        do throws(StoreError) { try await body() } catch { logger.debug("cannot run a timer: \(error)") }
    }
}
