import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store

extension Sweeper {
    /// Sends what is due of a push's retries, page by page, under a lease of its own. The tokens stay in the retry set until
    /// they are settled, so nothing is lost if the worker dies.
    func retries(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        let asked = Clocks.sinceBoot()
        switch try await store.sweeps.claim(item, owner: owner, lease: options.claimAfter) {
        case .gone: return .acknowledge
        case .held(let left):
            // Another worker is at it, or died at it: looked at again when its lease is over.
            try await store.queue.schedule(item, due: Clocks.now() + left.milliseconds)
            return .acknowledge
        case .done(let leftovers):
            if leftovers.owesPrunes { try await applyOwedPrunes(item, log) }
            return .acknowledge
        case .claimed(let claim):
            guard let app = apps[item.app] else { return .leave }
            let held = HeldLease(askedAt: asked, duration: options.claimAfter)
            leases.hold(claim.lease, held)
            defer { leases.release(claim.lease) }
            var settled: Leftovers?
            var rest: Duration?
            while held.isLive, !drain.isOn, rest == nil {
                let tokens = try await store.sweeps.dueRetries(claim.lease, now: Clocks.now(), limit: options.pageSize)
                guard !tokens.isEmpty, held.isLive else { break }
                let page = TokenPage(tokens)
                guard let sent = try await send(page, item, claim, held, app, log) else {
                    held.lose()
                    return .leave
                }
                (settled, rest) = sent
                if settled?.firstRetry == nil { break }
            }
            let leftovers: Leftovers
            if let settled {
                leftovers = settled
            } else {
                leftovers = try await store.sweeps.leftovers(item.app, item.name, item.push)
            }
            if leftovers.owesPrunes { try await applyOwedPrunes(item, log) }
            if let first = leftovers.firstRetry {
                try await scheduleRetries(item, max(first, rest.map { Clocks.now() + $0.milliseconds } ?? first))
            }
            _ = try await store.sweeps.renew(claim.lease, for: .zero)
            return .acknowledge
        }
    }

    /// One page of retries; nil when it could not be settled. A supersedable push that a newer one for everyone has followed
    /// is not sent any more: the newer one's own sweep brings these tokens the last state.
    private func send(
        _ page: TokenPage, _ item: WorkItem, _ claim: Claim, _ held: HeldLease, _ app: WorkerApp, _ log: Logger
    ) async throws(StoreError) -> (Leftovers, rest: Duration?)? {
        let record = claim.record
        let deadline = record.deadline(defaultLife: options.defaultLife)
        let settlement: Settlement
        var prunes: [Prune] = []
        var rest: Duration?
        if Clocks.now() >= deadline {
            settlement = Settlement(retried: page, endingAs: .expired)
        } else if record.isSupersedable, try await store.sweeps.newestForAll(item.app, item.name) > record.sequence {
            settlement = Settlement(retried: page, endingAs: .superseded)
        } else {
            let outcome = await app.transport.send(page, record.prepared(bundleID: app.bundleID))
            let report = judge(page, outcome, item.app, record, deadline)
            rest = await self.rest(item.app, report, log)
            settlement = Settlement(retried: page, report)
            prunes = report.prunes
        }
        // Repeated while the lease holds: what was sent must not be sent again because Redis was away for a moment.
        let settled = await held.whileLive(log) { () async throws(StoreError) in
            try await store.sweeps.settle(
                item.app, item.name, item.push, lease: claim.lease, for: options.claimAfter, settlement)
        }
        guard case .ok(_, _, let leftovers) = settled else { return nil }
        meters.settled(item.app, settlement)
        try await apply(prunes, item, log)
        return (leftovers, rest)
    }

    // MARK: Judging a page, for sweeps and retries alike

    func judge(
        _ page: TokenPage, _ outcome: PageOutcome, _ app: AppKey, _ record: PushRecord, _ deadline: Int64
    ) -> PageReport {
        PageReport(
            page, outcome, now: Clocks.now(), deadline: deadline, triesOnce: record.expiry == 0,
            backoff: options.backoff,
            rest: { gates.nextRest(app, $0) }, random: { Double.random(in: 0..<1) })
    }

    /// Closes or opens the app's gate after a page; the time it rests, if it does.
    func rest(_ app: AppKey, _ report: PageReport, _ log: Logger) async -> Duration? {
        if let halt = report.halt {
            if gates.close(app, halt, now: Clocks.sinceBoot()) {
                log.error("\(halt.alarmText)", metadata: ["reason": "\(halt.reason)"])
                try? await store.alarms.raise(
                    Alarm(app: app, kind: halt.cause.alarm, reason: halt.reason, since: Clocks.now()))
            }
            return gates.rest(of: app, now: Clocks.sinceBoot()) ?? .zero
        }
        if report.delivered > 0, let halt = gates.open(app) {
            log.notice("APNs accepts this app's pushes again", metadata: ["reason": "\(halt.reason)"])
            // One may have followed the other: what passes ends both.
            for cause in Halt.Cause.allCases { try? await store.alarms.clear(app, cause.alarm) }
        }
        return nil
    }
}
