import LiveActivity
import Logging
import Store

/// One entry of a stream, to its end.
extension WorkerContext {
    /// Processes one entry, then empties its name's outbox. The entry stays pending until both are done, so that a
    /// death in between loses no outgoing event.
    func handle(_ entry: WorkEntry) async -> Disposition {
        let disposition = await process(entry)
        do throws(StoreError) {
            try await wakeBroughtBack(entry.item)
            try await emptyOutbox(entry.item.app, entry.item.name)
        } catch {
            logger.warning("outgoing events or a push wait: \(error)", metadata: ["app": "\(entry.item.app)"])
            return .leave
        }
        return disposition
    }

    /// Adds an entry for a push that waits again, because the push that superseded it was withdrawn.
    private func wakeBroughtBack(_ item: WorkItem) async throws(StoreError) {
        guard store.endings.takeBroughtBack(item.app, item.name),
            let (push, priority) = try await store.queue.firstUnswept(item.app, item.name)
        else { return }
        try await store.queue.add([item.about(push, .name, priority)])
    }

    /// While the app's circuit is open, or an operator pauses it, the entry goes into a timer. Only what has expired is
    /// processed under a pause, because then nothing is sent.
    private func process(_ entry: WorkEntry) async -> Disposition {
        var log = logger
        log[metadataKey: "app"] = .stringConvertible(entry.item.app)
        log[metadataKey: "name"] = .stringConvertible(entry.item.name)
        if entry.item.push != .none { log[metadataKey: "push"] = .stringConvertible(entry.item.push) }
        do throws(StoreError) {
            let isPaused = pauses.isPaused(entry.item.app, entry.item.name)
            var isKept = isPaused
            if isPaused, try await mayExpire(entry.item) { isKept = false }
            if let pause = isKept ? KnownPauses.look : isPaused ? nil : circuitPause(entry.item.app) {
                if entry.handed != nil { try await store.sweeps.giveBack(handed: entry) }
                try await store.queue.schedule(entry.item, due: store.time.now() + pause.milliseconds)
                return .acknowledge
            }
            switch entry.item.part {
            case .name, .reconcile: return try await beginName(entry, log)
            case .shard, .catchUp: return try await sweepPart(entry.item, isTakenOver: entry.isTakenOver, log)
            case .retries: return try await sendRetries(entry, log)
            case .broadcast: return try await sendBroadcasts(entry.item, log)
            case .late: return try await decideLateJoiners(entry, log)
            }
        } catch {
            // Finished work is settled. The worker that claims the entry does the rest again from the checkpoint.
            log.warning("work is postponed: \(error)", metadata: ["part": "\(entry.item.part)"])
            return .leave
        }
    }

    private func circuitPause(_ app: AppKey) -> Duration? {
        circuits.pause(of: apps[app]?.platforms ?? [], now: now)
    }

    /// Whether there may be something of a paused name that is past its deadline.
    private func mayExpire(_ item: WorkItem) async throws(StoreError) -> Bool {
        switch item.part {
        case .name, .reconcile, .shard, .catchUp:
            try await store.sweeps.isOverdue(item.app, item.name, now: store.time.now())
        case .retries, .broadcast: true
        case .late: false
        }
    }

    /// Sends a push that its acceptance has begun. Nil: its entry is not fresh, so `push-begin` decides.
    private func sendHanded(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition? {
        guard let handed = entry.handed else { return nil }
        // Before the time that is left is known, so that a worker that stands still in between has it no longer.
        let asked = now
        guard let left = handed.left(entry: entry.place.id, now: store.time.now()) else {
            try await store.sweeps.giveBack(handed: entry)
            return nil
        }
        let claim = try store.sweeps.claim(handed, of: entry)
        addBeginSpans(entry.item.app, claim.record, asked: spans.map { _ in wallNanoseconds() })
        return try await sweep(
            entry.item, claim, asked: asked + left - options.claimAfter.milliseconds, isTakenOver: false, log)
    }

    /// Begins the name's oldest unswept push, then sweeps it, queues its shards or waits, as `push-begin` answers.
    private func beginName(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        if let disposition = try await sendHanded(entry, log) { return disposition }
        let item = entry.item
        let (asked, askedAt) = (now, spans.map { _ in wallNanoseconds() })
        let (begun, push) = try await store.sweeps.begin(
            item.app, item.name, expecting: item.push, owner: owner, lease: options.claimAfter,
            minInterval: options.minInterval, mostLapses: options.maxClaims, budget: options.budget)
        if entry.isTakenOver, push != item.push || !begun.isClaimed {
            // The entry's last owner may have settled the last page and died before `followUp`.
            let leftovers = try await store.sweeps.leftovers(item.app, item.name)
            _ = try await followUp(item, leftovers, isTakenOver: true, log)
        }
        switch begun {
        case .idle: return .acknowledge
        case .held:
            metrics.claimed(item.app, .held)
            // The holder has an entry for the name. A claimed entry may be that one, so leave it pending.
            return entry.isTakenOver ? .leave : .acknowledge
        case .paced(let left):
            // If the worker dies before this, another one claims the entry. The reconciler finds a lost timer's name.
            try await store.queue.schedule(item.about(push, .name), due: store.time.now() + left.milliseconds)
            return .acknowledge
        case .planned:
            if item.part == .reconcile {
                // Add the shards whose entries were lost: no stream, timer or worker has them.
                let parts = try await store.sweeps.unfinishedShards(item.app, item.name, push)
                try await store.queue.add(try await store.queue.withoutEntry(parts.map { item.about(push, $0) }))
            }
            return .acknowledge
        case .catchUp:
            // Sweep the catch-up under an entry that names its push, for the same reason as in `.claimed` below.
            try await store.queue.add([item.about(push, .catchUp)])
            return .acknowledge
        case .plan(let record, let shards):
            addBeginSpans(item.app, record, asked: askedAt)
            // If the worker dies after `add`, the shards are added again. The claim of a done or held shard then fails.
            try await store.queue.add(
                broadcastEntries(item, record)
                    + shards.map { item.about(push, $0, record.priority) })
            try await store.sweeps.markPlanned(item.app, item.name, push)
            return .acknowledge
        case .claimed(let claim) where push != item.push:
            // An entry must name the push that is swept under it, because after a death the worker that claims the
            // entry looks for that push's leftovers. So give the lease back and add an entry for this push.
            // If the worker dies before `add`, another one claims this entry.
            try await store.sweeps.giveBack(claim.lease)
            try await store.queue.add([item.about(push, .name, claim.record.priority)])
            return .acknowledge
        case .claimed(let claim):
            addBeginSpans(item.app, claim.record, asked: askedAt)
            let broadcast = broadcastEntries(item, claim.record)
            // If the worker dies before this, its sweep is not settled, so the push begins again.
            if !broadcast.isEmpty { try await store.queue.add(broadcast) }
            return try await sweep(item, claim, asked: asked, isTakenOver: entry.isTakenOver, log)
        }
    }

    /// Claims and sweeps a shard or the catch-up.
    private func sweepPart(_ item: WorkItem, isTakenOver: Bool, _ log: Logger) async throws(StoreError) -> Disposition {
        let asked = now
        switch try await store.sweeps.claim(
            item, owner: owner, lease: options.claimAfter, mostLapses: options.maxClaims)
        {
        case .gone: return .acknowledge
        // The holder of a catch-up has an entry of its own. A claimed entry may be that one, so leave it pending.
        case .held:
            metrics.claimed(item.app, .held)
            return item.part == .catchUp && !isTakenOver ? .acknowledge : .leave
        case .done(let leftovers): return try await followUp(item, leftovers, isTakenOver: isTakenOver, log)
        case .claimed(let claim): return try await sweep(item, claim, asked: asked, isTakenOver: isTakenOver, log)
        }
    }

    private func sweep(
        _ item: WorkItem, _ claim: Claim, asked: Int64, isTakenOver: Bool, _ log: Logger
    ) async throws(StoreError) -> Disposition {
        guard let app = apps[item.app] else { return .leave }
        var claim = claim
        if app.senders.contains(where: { $0.ordersBySecond(claim.record) && claim.takes($0.platform) }) {
            let wait = try await store.sweeps.giveSecond(item.app, item.name, to: &claim.record)
            if wait > .zero {
                // As for a sweep that is interrupted, below.
                try await store.queue.schedule(item, due: store.time.now() + wait.milliseconds)
                try await store.sweeps.giveBack(claim.lease)
                return .acknowledge
            }
        }
        if !tookOver(item.app, claim.lease.part, claim.lapses, isTakenOver: isTakenOver, log) {
            metrics.claimed(item.app, .claimed)
        }
        let held = leases.hold(claim.lease, askedAt: asked, for: options.claimAfter)
        let isOver = claim.record.deadline <= store.time.now()
        let sweep = Sweep(
            PageDelivery(
                context: self, app: app, held: held, lapses: claim.lapses, sendsNothing: isOver, log: log), claim)
        let end = await sweep.run()
        leases.release(held)
        switch end {
        case .finished(let leftovers): return try await followUp(item, leftovers, isTakenOver: isTakenOver, log)
        case .lost:
            lostLease(item.app, log)
            return .leave
        case .interrupted(var pause):
            // A push that comes meanwhile does not wait for one platform: the shard then goes on without it.
            if claim.isSplit { pause = min(pause, Self.splitPause) }
            // Schedule first, then give the lease back. If the worker dies in between, another one claims the entry.
            if pause > .zero { try await store.queue.schedule(item, due: store.time.now() + pause.milliseconds) }
            try await store.sweeps.giveBack(claim.lease)
            if pause == .zero { try await store.queue.add([item]) }
            return .acknowledge
        }
    }

    /// The longest pause of a shard for one platform of several.
    private static let splitPause: Duration = .seconds(5)

    /// Tells operators that the last owner of a claimed lease crashed or stalled.
    /// - Returns: whether it did
    @discardableResult
    func tookOver(_ app: AppKey, _ part: WorkItem.Part, _ lapses: Lapses, isTakenOver: Bool, _ log: Logger) -> Bool {
        let isPoison = lapses == .tooMany
        if isPoison {
            log.error("task given up: too many workers in a row crashed or stalled", metadata: ["part": "\(part)"])
        }
        guard isPoison || isTakenOver else { return false }
        metrics.claimed(app, isPoison ? .poison : .lapsed)
        return true
    }

    /// Tells operators why devices may have got a push twice: this machine or Redis was too busy, or stood still.
    /// - Parameter pushes: the pushes of the pages, if the lease is for more than one push
    func lostLease(_ app: AppKey, of pushes: Set<PushID> = [], _ log: Logger) {
        metrics.lostLease(app)
        let ids = pushes.map(\.description).sorted().joined(separator: ",")
        log.warning(
            "a lease ran out before its pages were settled: another worker may send them again",
            metadata: ids.isEmpty ? nil : ["push": "\(ids)"])
    }

    /// Does the work after a finished shard or catch-up. Each step may be repeated. The last shard sweeps the catch-up.
    func followUp(
        _ item: WorkItem, _ leftovers: Leftovers, isTakenOver: Bool, _ log: Logger
    ) async throws(StoreError) -> Disposition {
        if leftovers.hasPendingRemovals { try await applyPendingRemovals(item.app, item.name) }
        if let first = leftovers.firstRetry { try await scheduleRetries(item.app, item.name, item.priority, first) }
        if leftovers.catchUpWaits, item.part != .catchUp {
            return try await sweepPart(item.about(item.push, .catchUp), isTakenOver: isTakenOver, log)
        }
        if leftovers.nameWaits {
            // Do not add the item's own push: other shards of it are still swept, under entries of their own.
            guard let (push, priority) = try await store.queue.firstUnswept(item.app, item.name), push != item.push
            else { return .acknowledge }
            try await store.queue.add([item.about(push, .name, priority)])
        }
        return .acknowledge
    }
}
