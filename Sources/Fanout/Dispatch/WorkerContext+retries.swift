import LiveActivity
import Logging
import Store

extension WorkerContext {
    /// Sends to the name's waiting channels that are due, under the lease of the name's retries.
    func sendRetries(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        let asked = now
        switch try await store.sweeps.claimRetries(
            item.app, item.name, owner: owner, lease: options.claimAfter, mostLapses: options.maxClaims)
        {
        case .idle: return .acknowledge
        case .held(let left):
            // Another worker sends or died over them. It may have looked before this channel was queued: look again.
            try await store.queue.schedule(item, due: store.time.now() + min(left.milliseconds, 500))
            return .acknowledge
        case .claimed(let lease, let hasPendingRemovals, let lapses):
            guard let app = apps[item.app] else { return .leave }
            tookOver(item.app, .retries, lapses, isTakenOver: entry.isTakenOver, log)
            let held = leases.hold(lease, askedAt: asked, for: options.claimAfter)
            defer { leases.release(held) }
            for push in try await store.deadLetters.enlistUnlisted(item.app, item.name) {
                log.error("a retry queue was full, so a push was given up for its token", metadata: ["push": "\(push)"])
            }
            let step = try await hasten(lease, after: nil)
            if hasPendingRemovals { try await applyPendingRemovals(item.app, item.name) }
            let isPaused = pauses.isPaused(item.app, item.name)
            let run = RetryRun(
                delivery: PageDelivery(
                    context: self, app: app, held: held, lapses: lapses, sendsNothing: isPaused, log: log))
            guard await run.run() else {
                held.lose()
                lostLease(item.app, of: run.unsettled, log)
                return .leave
            }
            // The run may have waited for APNs while Redis's clock was set back.
            _ = try await hasten(lease, after: step)
            // Schedule first, then give the lease back. If the worker dies in between, another one claims the entry.
            if let first = try await store.sweeps.leftovers(item.app, item.name).firstRetry {
                let pause = run.pause ?? (isPaused ? KnownPauses.look : nil)
                let pausedUntil = pause.map { store.time.now() + $0.milliseconds } ?? first
                try await scheduleRetries(item.app, item.name, item.priority, max(first, pausedUntil))
            }
            try await store.sweeps.giveBack(lease)
            return .acknowledge
        }
    }

    /// Brings forward the attempts of the name's channels if Redis's clock was set back since `before`.
    private func hasten(
        _ lease: Lease, after before: ServerTime.Step?
    ) async throws(StoreError) -> ServerTime.Step? {
        guard let step = store.time.step, step.number != before?.number else { return before }
        try await store.sweeps.hasten(lease, step, now: store.time.now())
        return step
    }
}
