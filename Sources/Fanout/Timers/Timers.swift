import LiveActivity
import Logging
import ServiceLifecycle
import Store
import Synchronization

/// The work that a worker does by the clock. Every worker does all of it. The scripts let nothing be done twice.
struct Timers: Sendable {
    let context: WorkerContext
    let apps: [AppKey]
    let pools: [Pool]

    var store: Store { context.store }
    var logger: Logger { context.logger }
    /// The worker is asked to stop.
    var isEnding: Bool { context.drain.isOn || Task.isCancelled }

    /// Renews the leases in the names' slots and the idle times in the streams until cancelled. Both show that this
    /// worker lives. This runs longer than all else, because pages in flight are settled under these leases.
    func renewLeases() async {
        let (leases, life) = (context.leases, context.options.claimAfter)
        while !Task.isCancelled {
            await leases.renewAll { lease in
                await quietly { () async throws(StoreError) in try await store.sweeps.renew(lease, for: life) }
            }
            let entries = leases.entries
            if !entries.isEmpty {
                await quietly { () async throws(StoreError) in
                    try await store.queue.renew(entries, consumer: context.owner)
                }
            }
            try? await Task.sleep(for: Self.jittered(life / 3))
        }
    }

    /// Runs until the drain begins. Returns when the entries that it claimed are processed.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await watch() }
            group.addTask { await watchClock() }
            group.addTask { await every(.seconds(10), reconcile) }
            group.addTask {
                var timer = HeartbeatTimer(context)
                await every(Heartbeats.interval) { () async throws(StoreError) in try await timer.beat() }
            }
            group.addTask {
                await every(.seconds(30)) {
                    for key in context.verdictLog.keys {
                        await quietly { () async throws(StoreError) in try await context.shareVerdicts(key) }
                    }
                }
            }
            group.addTask {
                var tidying = Tidying(store)
                await every(.seconds(10)) { () async throws(StoreError) in
                    let lists = try await tidying.begin(apps)
                    for app in apps {
                        let most = context.options.mostPushes
                        await quietly { () async throws(StoreError) in
                            try await tidying.run(app, lists[app] ?? [], mostPushes: most)
                        }
                    }
                }
            }
            group.addTask {
                await every(.seconds(600)) { () async throws(StoreError) in
                    try await store.queue.forgetDeadWorkers(apps, silence: .seconds(3_600))
                    try await store.heartbeats.forgetSilent(now: store.time.now())
                }
            }
            let looks = pools.map { _ in AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1)) }
            for (pool, look) in zip(pools, looks) {
                group.addTask {
                    await withDiscardingTaskGroup { taken in
                        for await _ in look.stream { await pool.claim(in: &taken) }
                    }
                }
            }
            group.addTask { await watchOthers(looks.map(\.continuation)) }
        }
    }

    /// Tells the pools when others may have left entries.
    private func watchOthers(_ pools: [AsyncStream<Void>.Continuation]) async {
        var plan = ClaimPlan(claimAfter: context.options.claimAfter.milliseconds, now: context.now)
        await every(context.options.claimAfter / 2) {
            let found = await quietly { () async throws(StoreError) in try await store.heartbeats.all() }
            let heartbeats = found.flatMap { $0.unreadable == 0 ? $0.heartbeats : nil }
            let mustLook = plan.mustLook(
                isLeft: context.leftEntries.take(), heartbeats, time: store.time.now(), now: context.now)
            if mustLook { for pool in pools { pool.yield() } }
        }
        for pool in pools { pool.finish() }
    }

    /// Shared by tasks, because each chore ends in a task of its own.
    private final class SharedPlan: Sendable {
        let state = Mutex(TimerPlan())
        /// Apps whose names are all in the timer of automatic ends.
        let ending = Mutex<[AppKey]>([])
    }

    /// Asks Redis what is due next and what is paused, begins what is due, and sleeps until the next is.
    private func watch() async {
        let plan = SharedPlan()
        let wakeup = store.queue.wakeup
        let sleeper = wakeup.add()
        defer { wakeup.remove(sleeper) }
        await withDiscardingTaskGroup { group in
            group.addTask {
                await adoptEnds()
                plan.ending.withLock { $0 = apps.filter { endRule($0) != nil } }
                wakeup.ring(sleeper, .min)
            }
            // The worker has just read the pauses, before any work began.
            var pausesRead = bootClock()
            while !isEnding {
                wakeup.listen(sleeper)
                let asked = bootClock()
                let look = await quietly { () async throws(StoreError) in
                    try await store.look(
                        apps, ending: plan.ending.withLock(\.self), paused: context.pauses.apps,
                        readsPauses: asked - pausesRead >= KnownPauses.rest)
                }
                if let pauses = look?.pauses {
                    context.pauses.update(pauses)
                    pausesRead = asked
                }
                let (begin, wake) = plan.state.withLock { $0.look(look?.next, now: store.time.now()) }
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

    /// Seconds from one time to the next at which timers are brought forward after Redis's clock was set back.
    /// Processes go on with the old time until they look at the clock, and requests are in flight that end with a
    /// retry.
    private static let pausesOfStep = [0, 3, 15]

    /// Looks at Redis's clock, and follows each step back.
    private func watchClock() async {
        var handled: Int?
        await withDiscardingTaskGroup { group in
            await every(ServerTime.intervalOfWorkers) { () async throws(StoreError) in
                try await store.time.watch()
                guard let step = store.time.step, step.number != handled else { return }
                handled = step.number
                group.addTask { await follow(step) }
            }
        }
    }

    /// Does what a step back of Redis's clock asks for. Every worker does all of it, because any may die.
    private func follow(_ step: ServerTime.Step) async {
        logger.warning(
            "Redis's clock was set back: timers are brought forward",
            metadata: ["seconds": "\(step.by / 1_000)", "step": "\(step.number)"])
        // Redis keeps the end of a blocking read by the clock that was set.
        for pool in pools { await pool.interrupt() }
        await quietly { () async throws(StoreError) in try await store.queue.restartIdleTimes(apps) }
        context.leftEntries.note()
        for seconds in Self.pausesOfStep {
            if seconds > 0 { await pause(.seconds(seconds)) }
            if isEnding { return }
            await quietly { () async throws(StoreError) in
                try await store.queue.hasten(apps, step, now: store.time.now())
                for app in apps { try await store.alarms.shorten(app) }
            }
            store.queue.wakeup.ring(0)
        }
    }

    private func run(_ chore: TimerPlan.Chore) async {
        switch chore {
        case .tasks: await quietly(moveDue)
        case .schedules: await commitSchedules()
        case .broadcastChannels(let app):
            let keeper = BroadcastChannelKeeper(
                store: store, apps: context.apps, owner: context.owner, logger: logger)
            await keeper.tick(app)
        case .ends: await endOldCards()
        }
    }

    /// The work of a paused app stays where it is.
    private var moving: [AppKey] {
        let paused = context.pauses.apps
        return apps.filter { !paused.contains($0) }
    }

    private func moveDue() async throws(StoreError) {
        let found = try await store.queue.moveDue(moving, now: store.time.now(), limit: 256)
        for (app, entries) in found.unreadable {
            logger.error(
                "dropped timer entries in an unknown format", metadata: ["app": "\(app)", "entries": "\(entries)"])
        }
    }

    private func reconcile() async throws(StoreError) {
        let now = store.time.now()
        let found = try await store.queue.reconcile(
            apps, paused: context.pauses.apps, before: now - 30_000, now: now, limit: 256)
        if found.woken > 0 { logger.info("woke names whose entries were lost", metadata: ["names": "\(found.woken)"]) }
        if found.dropped > 0 {
            logger.error("dropped names in an unknown format", metadata: ["names": "\(found.dropped)"])
        }
    }

    private func every(_ interval: Duration, _ body: () async throws(StoreError) -> Void) async {
        while !isEnding {
            await quietly(body)
            await pause(interval)
        }
    }

    /// Sleeps for about this time, or until the worker is asked to stop.
    func pause(_ interval: Duration) async {
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.jittered(interval)) }
    }

    private static func jittered(_ interval: Duration) -> Duration { interval * Double.random(in: 0.9..<1.1) }

    /// - Returns: nil when Redis did not answer
    @discardableResult func quietly<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        do throws(StoreError) { return try await body() } catch {
            logger.debug("cannot run a timer: \(error)")
            return nil
        }
    }
}

extension Timers {
    private static let mostSchedules = 256

    /// Commits the schedules that are due. Every worker knows when the next one is due (`TimerPlan`), so a schedule is
    /// a push well within a second of its time. After an error of Redis, the next turn of any worker continues.
    func commitSchedules() async {
        for app in apps {
            do throws(StoreError) {
                for run in try await store.schedules.runDue(app, limit: Self.mostSchedules) {
                    report(run, app)
                    if let reason = run.alarm { await context.raiseAlarm(AppPlatform(app, .ios), .conflict, reason) }
                }
            } catch { logger.debug("cannot commit schedules: \(error)") }
        }
    }

    private func report(_ run: ScheduleRun, _ app: AppKey) {
        let metadata: Logger.Metadata = ["app": "\(app)", "push": "\(run.id)", "late_ms": "\(run.lateness)"]
        switch run.outcome {
        case .sent: logger.info("a scheduled push was committed", metadata: metadata)
        case .failed(let reason): logger.warning("a scheduled push was refused: \(reason)", metadata: metadata)
        case .postponed(let reason): logger.info("a scheduled push is tried again: \(reason)", metadata: metadata)
        }
    }
}
