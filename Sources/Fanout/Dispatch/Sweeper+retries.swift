import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store

extension Sweeper {
    /// Sends to the name's waiting channels that are due, under the lease of the name's retries.
    func retries(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        let asked = Clocks.sinceBoot()
        switch try await store.sweeps.claimRetries(
            item.app, item.name, owner: owner, lease: options.claimAfter, mostLapses: options.maxClaims)
        {
        case .idle: return .acknowledge
        case .held(let left):
            // Another worker sends the retries, or died over them. It may have looked before this channel was queued,
            // so look again.
            try await store.queue.schedule(item, due: store.time.now() + min(left.milliseconds, 500))
            return .acknowledge
        case .claimed(let lease, let owesRemovals, let isPoison):
            guard let app = apps[item.app] else { return .leave }
            let held = HeldLease(askedAt: asked, duration: options.claimAfter)
            leases.hold(lease, held)
            defer { leases.release(lease) }
            if owesRemovals { try await applyOwed(item.app, item.name) }
            let run = RetryRun(self, app, lease, held, isPoison: isPoison, log)
            guard try await run.run() else {
                held.lose()
                return .leave
            }
            // Schedule first, then give the lease back. If the worker dies in between, the entry comes back by itself.
            if let first = try await store.sweeps.leftovers(item.app, item.name).firstRetry {
                let rest = run.rest.map { store.time.now() + $0.milliseconds } ?? first
                try await scheduleRetries(item.app, item.name, item.priority, max(first, rest))
            }
            _ = try await store.sweeps.renew(lease, for: .zero)
            return .acknowledge
        }
    }

    // MARK: Judging a page, for sweeps and retries alike

    /// Sends a page, each token to the environment where it lives, and turns the outcomes into a report. It remembers
    /// which tokens the other environment accepted.
    /// - Parameters:
    ///   - elsewhere: indices of the entries known to live in the other environment
    ///   - apart: another push, and the indices of the entries that get it
    ///   - deadline: epoch ms after which no token is tried again
    ///   - time: boot-clock milliseconds after which no request leaves this machine
    /// - Returns: the decision for each entry
    func deliver(
        _ page: TokenPage, _ push: PreparedPush, _ app: WorkerApp, _ record: PushRecord, _ name: ActivityName,
        elsewhere: Set<Int>, apart: (push: PreparedPush, entries: Set<Int>)? = nil, deadline: Int64,
        while held: HeldLease, until time: Int64? = nil
    ) async -> PageReport {
        var notes: [Int: [UInt8]]?
        if record.event == .start {
            notes = await expectTokens(page, app.key, record, name, besides: apart?.entries ?? [], while: held)
            if notes == nil { return PageReport(lost: page) }
        }
        let delivery = await app.environments.send(
            page, push, known: elsewhere, apart: apart ?? record.lowered(page, push),
            while: held.permission(until: time))
        let report = PageReport(
            page, delivery.outcome, now: store.time.now(), deadline: deadline, triesOnce: record.expiry == 0,
            backoff: options.backoff, elsewhere: delivery.elsewhere,
            attributesType: record.startTokens?.startTokensType,
            rest: { gates.nextRest(app.key, $0) },
            random: { Double.random(in: 0..<1) })
        answers.note(app.key, report.answers, now: store.time.now())
        let news = delivery.found.filter { !elsewhere.contains($0) }
        if !news.isEmpty {
            // If this write is lost, the next send finds out again.
            try? await store.otherEnvironment.remember(app.key, record.startTokens ?? name, page, news)
        }
        if let refusal = report.otherRefusal { await ring(app.key, .otherEnvironment, refusal) }
        if let notes {
            await expectNoTokens(page, delivery.outcome, report, app.key, name, before: notes, while: held)
        }
        return report
    }

    /// Closes or opens the app's gate after a page.
    /// - Returns: how long the app rests, if it does
    func rest(_ app: AppKey, _ report: PageReport, _ log: Logger) async -> Duration? {
        if let halt = report.halt {
            if gates.close(app, halt, now: Clocks.sinceBoot()) {
                log.error("\(halt.alarmText)", metadata: ["reason": "\(halt.reason)"])
                try? await store.alarms.raise(
                    Alarm(app: app, kind: halt.cause.alarm, reason: halt.reason, since: store.time.now()))
            }
            return gates.rest(of: app, now: Clocks.sinceBoot()) ?? .zero
        }
        if report.delivered > 0, let halt = gates.open(app) {
            log.notice("APNs accepts this app's pushes again", metadata: ["reason": "\(halt.reason)"])
            // One halt may have followed the other, so a delivery clears both alarms.
            for cause in Halt.Cause.allCases { try? await store.alarms.clear(app, cause.alarm) }
        }
        return nil
    }
}
