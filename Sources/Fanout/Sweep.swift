import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store
import Synchronization

/// One shard of one push on its way through the registry: page after page is read, filtered, sent and settled, several at a
/// time. Memory is bounded by `openPages` pages, whatever the shard's size.
///
/// Killed at any point, it is resumed from the last settled page by whoever claims the entry; pages in flight are sent again.
struct Sweep: Sendable {
    enum End {
        case finished(Leftovers)
        /// Another worker has the shard, or Redis could not be reached for as long as the lease held.
        case lost
        /// The worker drains (zero) or the app rests (the time): the rest of the shard waits for another turn.
        case interrupted(rest: Duration)
    }

    private let sweeper: Sweeper
    private let app: WorkerApp
    private let claim: Claim
    private let held: HeldLease
    private let log: Logger
    private let item: WorkItem
    private let push: PreparedPush
    private let deadline: Int64
    private let state = Progress()

    /// What the pages of one sweep tell each other.
    private final class Progress: Sendable {
        struct Values { var leftovers: Leftovers?; var isOver = false; var isLost = false; var rest: Duration? }
        let values = Mutex(Values())
        var goesOn: Bool { values.withLock { !$0.isOver && !$0.isLost && $0.rest == nil } }
    }

    init(_ sweeper: Sweeper, _ app: WorkerApp, _ claim: Claim, _ held: HeldLease, _ log: Logger) {
        self.sweeper = sweeper
        self.app = app
        self.claim = claim
        self.held = held
        self.log = log
        let lease = claim.lease
        item = WorkItem(
            app: lease.app, name: lease.name, push: lease.push, priority: claim.record.priority, part: lease.part)
        push = claim.record.prepared(bundleID: app.bundleID)
        deadline = claim.record.deadline(defaultLife: sweeper.options.defaultLife)
    }

    func run() async -> End {
        if claim.isTakenOver { try? await sweeper.applyOwedPrunes(item, log) }
        if claim.record.state.isFinal { state.values.withLock { $0.isOver = true } }
        await pages()
        if state.values.withLock({ $0.isOver }) {
            // Failed or cancelled: nobody reads the rest, and the name is free for its next push.
            await settle(Settlement(range: claim.lease.bounds), prunes: [])
        }
        let (leftovers, isLost, rest) = state.values.withLock { ($0.leftovers, $0.isLost, $0.rest) }
        if isLost { return .lost }
        if let leftovers { return .finished(leftovers) }
        if let rest { return .interrupted(rest: rest) }
        return held.isLive ? .interrupted(rest: .zero) : .lost
    }

    private func pages() async {
        let end = claim.lease.bounds.upperBound
        var ahead = claim.ahead[...]
        var position = claim.position
        // Pages that the audience leaves empty are settled together with the next one that it does not.
        var unsettled = position
        await withDiscardingTaskGroup { group in
            let open = Slots(sweeper.options.openPages)
            while position < end, mayGoOn {
                if let done = ahead.first, done.lowerBound <= position {
                    position = max(position, done.upperBound)
                    unsettled = position
                    ahead.removeFirst()
                    continue
                }
                let limit = ahead.first?.lowerBound ?? end
                guard let (page, next) = await read(from: position, to: limit) else {
                    return state.values.withLock { $0.isLost = true }
                }
                position = next
                if page.isEmpty, position < limit { continue }
                let range = unsettled..<position
                unsettled = position
                await open.take()
                // The wait may have been long: begin nothing without a live lease.
                guard mayGoOn else { return }
                group.addTask {
                    await send(page, range)
                    open.give()
                }
            }
        }
    }

    private var mayGoOn: Bool { state.goesOn && held.isLive && !sweeper.drain.isOn }

    /// The next page in the audience; nil when Redis did not give it.
    private func read(from position: ScanPosition, to limit: ScanPosition) async -> (TokenPage, ScanPosition)? {
        await held.whileLive(log) { () async throws(StoreError) in
            let (page, next) = try await sweeper.store.registry.page(
                item.app, item.name, from: position, to: limit, limit: sweeper.options.pageSize)
            return (try await sweeper.store.channels.filter(item.app, page, claim.record.audience), next)
        }
    }

    private func send(_ page: TokenPage, _ range: Range<ScanPosition>) async {
        if page.isEmpty { return await settle(Settlement(range: range), prunes: []) }
        if Clocks.now() >= deadline {
            return await settle(Settlement(unsent: page, as: .expired, range: range), prunes: [])
        }
        let outcome = await app.transport.send(page, push)
        let report = sweeper.judge(page, outcome, item.app, claim.record, deadline)
        if let rest = await sweeper.rest(item.app, report, log) { state.values.withLock { $0.rest = rest } }
        if report.isUnsent {
            // Nothing left this machine: the page is read again when the app is back, or by another worker when this one
            // drains. A transport that gives pages back for no reason is not asked again at once.
            let pause: Duration = sweeper.drain.isOn ? .zero : .seconds(1)
            state.values.withLock { $0.rest = $0.rest ?? pause }
            return
        }
        await settle(Settlement(firstAttempt: page, report, range: range), prunes: report.prunes)
    }

    private func settle(_ settlement: Settlement, prunes: [Prune]) async {
        let settled = await held.whileLive(log) { () async throws(StoreError) in
            try await sweeper.store.sweeps.settle(
                item.app, item.name, item.push, lease: claim.lease, for: sweeper.options.claimAfter, settlement)
        }
        switch settled {
        case nil, .stale, .gone:
            held.lose()
            state.values.withLock { $0.isLost = true }
        case .ok(let pushState, let isFinished, let leftovers):
            sweeper.meters.settled(item.app, settlement)
            state.values.withLock { values in
                if isFinished {
                    values.leftovers = leftovers
                } else if pushState.isFinal {
                    values.isOver = true
                }
            }
            let seenTo: Void? = await held.whileLive(log) { () async throws(StoreError) in
                if let first = leftovers.firstRetry, !isFinished { try await sweeper.scheduleRetries(item, first) }
                try await sweeper.apply(prunes, item, log)
            }
            // The entry stays pending then, and whoever claims it finds what is left.
            if seenTo == nil { state.values.withLock { $0.isLost = true } }
        }
    }
}

extension HeldLease {
    /// Repeats what Redis could not answer, for as long as the lease holds. Each such call may be repeated. Nil also for what
    /// will not pass by itself: repeating that would keep a place of the worker for ever.
    func whileLive<T: Sendable>(_ log: Logger, _ body: () async throws(StoreError) -> T) async -> T? {
        var attempt = 1
        while isLive {
            let asked = Clocks.sinceBoot()
            do throws(StoreError) {
                let value = try await body()
                if value is Settled { extend(askedAt: asked) }
                return value
            } catch {
                guard error.isPassing else {
                    log.error("work is put off: \(error)")
                    return nil
                }
                log.debug("Redis did not answer, trying again: \(error)")
                try? await Task.sleep(for: .milliseconds(min(1_000, 50 << min(attempt, 5))))
                attempt += 1
            }
        }
        return nil
    }
}

extension PushRecord {
    func prepared(bundleID: String) -> PreparedPush {
        PreparedPush(
            headers: PushHeaders(bundleID: bundleID, priority: priority, expiration: expiry), payload: payload)
    }
}

extension PageReport {
    var prunes: [Prune] {
        exceptions.compactMap { if case .dead(let prune) = $0.decision { prune } else { nil } }
    }
}
