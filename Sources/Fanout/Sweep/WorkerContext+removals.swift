import LiveActivity
import Logging
import Store

/// Applies the effect of a 410, a 400 that calls a token wrong, or a delivered `end`. A page decides on the removal
/// (`PageReport`), and its settlement stores it as a pending removal. Here the worker applies it to the registry
/// (`registry-prune`) and confirms it (`removal-confirm`), which counts it in the ledger. If the prune guard does not
/// believe APNs, the tokens are quarantined instead. After a death, the worker that claims the name does this.
extension WorkerContext {
    /// Applies all pending removals of a name, also the removals that another worker left.
    func applyPendingRemovals(_ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        try await store.sweeps.eachPendingRemoval(app, name) { pending throws(StoreError) in
            try await apply(pending, app, name)
        }
    }

    /// Applies pending removals. May be repeated: the registry knows what it removed, and one confirmation counts it.
    func apply(_ pending: [PendingRemoval], _ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        for start in stride(from: 0, to: pending.count, by: 1_000) {
            let part = pending[start..<min(start + 1_000, pending.count)]
            let distrusted = try await distrusted(part, app, name)
            func isHeldBack(_ one: PendingRemoval) -> Bool {
                one.removal.isDisputable && distrusted.contains(Doubt(push: one.push, platform: one.removal.platform))
            }
            try await remove(part.filter { !isHeldBack($0) }, app, name)
            try await quarantine(part.filter(isHeldBack), app, name)
        }
    }

    /// Notes the `end`s of a page that could not be settled, and removes their tokens. If Redis stays away for `time`,
    /// or this worker dies, a cancelled `end` shows on cards that stay registered.
    func note(
        _ ends: RetrySettlement, _ app: AppKey, _ name: ActivityName, for time: Duration, _ log: Logger
    ) async {
        let until = now + time.milliseconds
        _ = await repeated(log, while: { now < until }) { () async throws(StoreError) in
            _ = try await store.sweeps.settleLate(app, name, ends)
            try await applyPendingRemovals(app, name)
        }
    }

    private func remove(_ pending: [PendingRemoval], _ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        if pending.isEmpty { return }
        var settled: [(pending: PendingRemoval, as: SettledField)] = []
        for (place, part) in Dictionary(grouping: pending, by: { $0.removal.place(of: name) }) {
            let results = try await store.registry.prune(app, place, part.map(\.removal))
            settled += zip(part, results).map { (pending: $0, as: Self.outcome($0.removal, $1)) }
        }
        let (counted, firstRetry) = try await store.sweeps.confirm(app, name, settled)
        metrics.count(app, counted.mapValues { SettledWork(outcomes: $0) })
        // Pushes that waited behind an `end` can go out now.
        if let firstRetry, pending.contains(where: \.removal.hasEnded) {
            try await scheduleRetries(app, name, .high, firstRetry)
        }
    }

    /// Quarantines tokens instead. Their name (attributes type for start tokens) is listed before they are marked, so a
    /// death leaves no unlisted marks, and once more afterwards, because an operator may have released it in between.
    private func quarantine(_ pending: [PendingRemoval], _ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        let now = store.time.now()
        for (place, part) in Dictionary(grouping: pending, by: { $0.removal.place(of: name) }) {
            let marks = part.map { QuarantineMark(reason: $0.removal.reason, since: now, token: $0.removal.token) }
            try await store.quarantine.enlist(app, place)
            if place.isForStartTokens {
                try await store.quarantine.hold(app, place, zip(part, marks).map { ($0.removal.channel, $1) })
            }
            let (counted, _) = try await store.sweeps.confirm(
                app, name, part.map { (pending: $0, as: .failed) }, marks: marks)
            try await store.quarantine.enlist(app, place)
            metrics.count(app, counted.mapValues { SettledWork(outcomes: $0) })
            for (platform, part) in Dictionary(grouping: part, by: \.removal.platform) {
                metrics.quarantined(AppPlatform(app, platform), tokens: part.count)
            }
        }
    }

    /// The pushes and platforms whose 400s are not believed. This also adds the worker's counts to the fleet's and
    /// raises alarms.
    private func distrusted(
        _ pending: ArraySlice<PendingRemoval>, _ app: AppKey, _ name: ActivityName
    ) async throws(StoreError) -> Set<Doubt> {
        let dead = pending.filter { !$0.removal.hasEnded }
        var distrusted: Set<Doubt> = []
        for (platform, dead) in Dictionary(grouping: dead, by: \.removal.platform) {
            let pushes = try await doubted(dead, AppPlatform(app, platform), name)
            distrusted.formUnion(pushes.map { Doubt(push: $0, platform: platform) })
        }
        return distrusted
    }

    /// A platform's 400s to a push are not believed.
    private struct Doubt: Hashable {
        var push: PushID
        var platform: Platform
    }

    private func doubted(
        _ dead: [PendingRemoval], _ key: AppPlatform, _ name: ActivityName
    ) async throws(StoreError) -> Set<PushID> {
        let pushes = Array(Set(dead.map(\.push)))
        let counts = try await shareVerdicts(key, pushes: pushes, of: name)
        var distrusted: Set<PushID> = []
        for push in pushes {
            let verdict = options.pruneGuard.verdict(
                push: counts.pushes[push] ?? TokenVerdictCounts(), app: counts.app, lately: counts.lately)
            let removals = dead.filter { $0.push == push }.map(\.removal)
            if let reason = verdict.quarantine, removals.contains(where: \.isDisputable) {
                distrusted.insert(push)
                await raiseAlarm(key, .pruneGuard, reason)
            }
            if let reason = verdict.manyUnregistered, !removals.allSatisfy(\.isDisputable) {
                await raiseAlarm(key, .manyUnregistered, reason)
            }
        }
        return distrusted
    }

    /// Adds the worker's counts to the fleet's. A timer does so too, because the fleet needs the good answers before
    /// APNs calls a token dead. Returns the sums of the fleet.
    @discardableResult
    func shareVerdicts(
        _ key: AppPlatform, pushes: [PushID] = [], of name: ActivityName? = nil
    ) async throws(StoreError) -> TokenVerdictSums {
        let (now, pruneGuard) = (store.time.now(), options.pruneGuard)
        let reasons = apps[key.app]?.sender(key.platform)?.reasons
        let seen = verdictLog.take(key, now: now, window: pruneGuard.windowMinutes)
        do throws(StoreError) {
            return try await store.tokenVerdicts.add(
                key, seen, over: pruneGuard.span, pushes: pushes, of: name,
                (dead: reasons?.dead ?? [], gone: reasons?.gone ?? []))
        } catch {
            verdictLog.putBack(key, seen, now: now)
            throw error
        }
    }

    /// Raises an alarm and logs it, each kind at most twice a minute for an app and platform.
    func raiseAlarm(_ key: AppPlatform, _ kind: Alarm.Kind, _ reason: String) async {
        guard alarmThrottle.mayRaise(key, kind, now: now) else { return }
        logger.error(
            "\(kind.logText)",
            metadata: [
                "app": "\(key.app)", "platform": "\(key.platform)", "alarm": "\(kind.rawValue)", "reason": "\(reason)",
            ])
        try? await store.alarms.raise(key, kind, reason)
    }

    /// Tells the operator, by a log line and an alarm for each platform, that tokens of a push expired unsent.
    /// - Parameter tokens: how many, by platform; nil: the push's broadcast expired
    func reportExpired(_ app: AppKey, _ push: PushID, _ tokens: [Platform: Int]?, _ log: Logger) async {
        let what: Logger.MetadataValue = tokens.map { "\($0.values.reduce(0, +))" } ?? "broadcast"
        log.error("a push expired before it was sent to all", metadata: ["push": "\(push)", "tokens": what])
        let platforms = tokens.map { Array($0.keys) } ?? [.ios]
        for platform in platforms {
            await raiseAlarm(
                AppPlatform(app, platform), .expired,
                "pushes expired before they were sent to all; see `lamplighter dead list`")
        }
    }

    /// Tells the operator that pushes expired because their broadcast channel was not made in time.
    func reportExpired(_ app: AppKey, broadcastsOf name: ActivityName, _ pushes: Int, _ log: Logger) async {
        log.error(
            "pushes expired before their broadcast channel was made",
            metadata: ["name": "\(name)", "pushes": "\(pushes)"])
        await raiseAlarm(
            AppPlatform(app, .ios), .expired,
            "pushes expired before their broadcast channel was made; see `lamplighter dead list`")
    }

    private static func outcome(_ removal: TokenRemoval, _ result: PruneResult) -> SettledField {
        if removal.hasEnded { return .delivered }
        return switch result {
        case .pruned: .pruned
        case .newer: .failed
        case .gone: .skipped
        }
    }
}
