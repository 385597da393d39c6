import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store
import Synchronization

/// One shard of one push on its way through the registry, or the catch-up behind its shards: page after page is read,
/// filtered, sent and settled, several at a time. Memory is bounded by `openPages` pages, whatever the shard's size.
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

    /// A page on its way, with the channels in the audience that wait for an older push.
    struct Page: Sendable {
        var tokens = TokenPage()
        var held: [[UInt8]] = []
        /// How many more are in the audience and not sent to, since their tokens are quarantined.
        var quarantined = 0
        /// How many more are in the audience of a start, and follow already or come too late.
        var skipped = 0
        /// Of `tokens`, those that live in the app's other APNs environment.
        var elsewhere: Set<Int> = []
        /// Of the tokens of a start, those whose activities are to take their updates from the name's broadcast channel.
        var onChannel: Set<Int> = []
        /// Of a start: it may be sent until then, on the boot clock.
        var sendUntil: Int64?
        /// Of a catch-up.
        var arrivals: [CatchUpArrival] = []
        var isEmpty: Bool {
            tokens.isEmpty && held.isEmpty && arrivals.isEmpty && quarantined == 0 && skipped == 0
        }
    }

    let sweeper: Sweeper
    let claim: Claim
    let held: HeldLease
    let log: Logger
    private let app: WorkerApp
    private let push: PreparedPush
    /// Of a start: what goes to `Page.onChannel`.
    private let channelPush: PreparedPush?
    private let deadline: Int64
    private let state = Progress()

    /// What the pages of one sweep tell each other.
    private final class Progress: Sendable {
        struct Values {
            var leftovers: Leftovers?; var isOver = false; var isLost = false; var rest: Duration?; var expired = 0
        }
        let values = Mutex(Values())
        var goesOn: Bool { values.withLock { $0.leftovers == nil && !$0.isOver && !$0.isLost && $0.rest == nil } }
    }

    init(_ sweeper: Sweeper, _ app: WorkerApp, _ claim: Claim, _ held: HeldLease, _ log: Logger) {
        self.sweeper = sweeper
        self.app = app
        self.claim = claim
        self.held = held
        self.log = log
        push = claim.record.prepared(bundleID: app.bundleID, claim.lease.name)
        channelPush = claim.record.onChannel(push)
        deadline = claim.record.deadline
    }

    var lease: Lease { claim.lease }

    func run() async -> End {
        if claim.owesRemovals {
            // Before anything is read: a token whose `end` was delivered gets nothing more.
            let applied: Void? = await held.whileLive(log) { () async throws(StoreError) in
                try await sweeper.applyOwed(lease.app, lease.name)
            }
            if applied == nil { return .lost }
        }
        if claim.record.state.isFinal { state.values.withLock { $0.isOver = true } }
        if claim.isPoison {
            log.error(
                "a task that owner after owner died or slept over is given up", metadata: ["part": "\(lease.part)"])
            await close(stop: "PoisonTask")
        } else {
            switch lease.part {
            case .catchUp: await catchUp()
            default: await pages()
            }
            // Failed or cancelled: nobody reads the rest, and the name is free for its next push.
            if state.values.withLock({ $0.isOver && $0.leftovers == nil }) { await close() }
        }
        let (leftovers, isLost, rest, expired) = state.values.withLock {
            ($0.leftovers, $0.isLost, $0.rest, $0.expired)
        }
        if expired > 0 { await sweeper.tellExpired(lease.app, lease.push, expired, log) }
        if isLost { return .lost }
        if let leftovers { return .finished(leftovers) }
        if let rest { return .interrupted(rest: rest) }
        return held.isLive ? .interrupted(rest: .zero) : .lost
    }

    private func close(stop: String? = nil) async {
        var settlement = Settlement(range: lease.bounds)
        settlement.stop = stop
        settlement.abandonsRest = true
        await settle(settlement)
    }

    private func pages() async {
        let end = lease.bounds.upperBound
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
                guard let (page, next) = await read(from: position, to: limit) else { return lose() }
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

    var mayGoOn: Bool { state.goesOn && held.isLive && !sweeper.drain.isOn }
    func lose() { state.values.withLock { $0.isLost = true } }

    /// The next page in the audience; nil when Redis did not give it.
    private func read(from position: ScanPosition, to limit: ScanPosition) async -> (Page, ScanPosition)? {
        if let starts = claim.record.startTokens {
            return await held.whileLive(log) { () async throws(StoreError) in
                try await startPage(starts, from: position, to: limit, splits: channelPush != nil)
            }
        }
        return await held.whileLive(log) { () async throws(StoreError) in
            while true {
                let (tokens, next, signs) = try await sweeper.store.registry.markedPage(
                    lease.app, lease.name, from: position, to: limit, limit: sweeper.options.pageSize)
                if let page = try await sorted(tokens, signs, setAside: .catchingUp) { return (page, next) }
            }
        }
    }

    /// Who of a page is in the audience, and which of them wait for an older push; without those that have `setAside`.
    /// Nil: the page has to be read again.
    func sorted(
        _ tokens: TokenPage, _ signs: MarkSigns, setAside: Marks.Mark?
    ) async throws(StoreError) -> Page? {
        let cards = claim.record.targets(of: tokens)
        let audience = try await sweeper.store.channels.filter(lease.app, cards, claim.record.audience)
        guard
            let marks = try await sweeper.store.registry.marks(
                lease.app, lease.name, audience, signs, for: claim.record.event)
        else {
            return nil
        }
        try await sweeper.store.quarantine.forget(lease.app, lease.name, marks.outdated)
        if marks.isEmpty { return Page(tokens: audience) }
        var page = Page()
        var sent: [Int] = []
        for index in 0..<audience.count {
            if let setAside, marks[index].contains(setAside) { continue }
            if marks.began(index, after: claim.record.createdAt) { continue }
            if marks[index].contains(.waiting) {
                page.held.append(Array(audience.channel(index)))
            } else if marks[index].contains(.quarantined) {
                page.quarantined += 1
            } else {
                if marks[index].contains(.elsewhere) { page.elsewhere.insert(sent.count) }
                sent.append(index)
            }
        }
        let wanted = Set(sent)
        page.tokens = audience.filtered(wanted.contains)
        return page
    }

    /// Sends a page and settles it.
    func send(_ page: Page, _ range: Range<ScanPosition>) async {
        var settlement: Settlement
        if page.tokens.isEmpty, page.held.isEmpty {
            settlement = Settlement(range: range)
        } else if sweeper.store.time.now() >= deadline {
            settlement = Settlement(unsent: page.tokens.count + page.held.count, as: .expired, range: range)
        } else if push.payload.count > Payload.maximumBytes {
            // Accepted for the name's broadcast channel.
            let count = page.tokens.count + page.held.count
            settlement = Settlement(unsent: count, as: .failed, range: range)
            settlement.errors[RejectionReason.Known.payloadTooLarge.rawValue] = count
        } else {
            settlement = Settlement(range: range)
            if !page.tokens.isEmpty {
                // It may have taken long to come to this, and a process may have slept: nothing is sent on a lost lease.
                guard held.isLive else { return lose() }
                let report = await sweeper.deliver(
                    page.tokens, push, app, claim.record, lease.name, elsewhere: page.elsewhere,
                    apart: channelPush.map { ($0, page.onChannel) }, deadline: deadline, while: held,
                    until: page.sendUntil)
                if let rest = await sweeper.rest(lease.app, report, log) { state.values.withLock { $0.rest = rest } }
                if report.isUnsent {
                    guard held.isLive else { return lose() }
                    // Nothing left this machine: the page is read again when the app is back, or by another worker when
                    // this one drains. A transport that gives pages back for no reason is not asked again at once.
                    let pause: Duration = sweeper.drain.isOn ? .zero : .seconds(1)
                    state.values.withLock { $0.rest = $0.rest ?? pause }
                    return
                }
                settlement = Settlement(
                    firstAttempt: page.tokens, report,
                    endedAt: claim.record.event == .end ? sweeper.store.time.now() : nil,
                    range: range)
                settlement.demoted = claim.record.demoted(page.tokens)
                if claim.record.startTokens != nil {
                    settlement.stale = report.delivered(page.tokens, registeredBefore: sweeper.staleBefore)
                }
            }
            for channel in page.held { settlement.hold(channel, mostAttempts: sweeper.options.backoff.inherited) }
        }
        settlement.quarantined(page.quarantined)
        settlement.skipped(page.skipped)
        for arrival in page.arrivals { settlement.caught(arrival) }
        await settle(settlement)
    }

    func settle(_ settlement: Settlement) async {
        let settled = await held.whileLive(log) { () async throws(StoreError) in
            if settlement.givesUp || settlement.stop != nil {
                try await sweeper.store.deadLetters.enlist(lease.app, lease.name, lease.push)
            }
            return try await sweeper.store.sweeps.settle(lease, for: sweeper.options.claimAfter, settlement)
        }
        switch settled {
        case nil, .stale, .gone:
            held.lose()
            lose()
        case .ok(let pushState, let isFinished, let leftovers):
            sweeper.meters.settled(lease.app, settlement)
            state.values.withLock { values in
                values.expired += settlement.expired
                if isFinished {
                    values.leftovers = leftovers
                } else if pushState.isFinal {
                    values.isOver = true
                }
            }
            let seenTo: Void? = await held.whileLive(log) { () async throws(StoreError) in
                if settlement.leavesWaiting, let first = leftovers.firstRetry, !isFinished {
                    try await sweeper.scheduleRetries(lease.app, lease.name, claim.record.priority, first)
                }
                try await sweeper.apply(
                    settlement.owed.map { OwedPrune(push: lease.push, prune: $0) }, lease.app, lease.name)
            }
            // The entry stays pending then, and whoever claims it finds what is left.
            if seenTo == nil { lose() }
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
                if value is Settled || value is RetrySettled { extend(askedAt: asked) }
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
    /// Of an automatic end those whose cards are old enough, of other pushes all.
    func targets(of page: TokenPage) -> TokenPage {
        isAutomatic ? page.filtered { isFor(startedAt: page.entries[$0].startedAt) } : page
    }

    /// What goes out, the same for all of its tokens but some of a start: an automatic end shows what the update told that it ends.
    private var rendered: [UInt8] { isAutomatic ? Payload.end(payload, showing: shown) : payload }

    /// A late follower is brought the state, not the alert: what that told is in the past.
    func prepared(bundleID: String, _ name: ActivityName, isLate: Bool = false) -> PreparedPush {
        PreparedPush(
            headers: PushHeaders(
                bundleID: bundleID, priority: demotion == .all ? .low : priority, expiration: expiry,
                collapseID: event == .start ? CollapseID.start(name) : nil),
            payload: isLate ? Payload.withoutAlert(rendered) : rendered)
    }

    /// A start for devices that can take an activity's updates from the name's broadcast channel, if it has one.
    func onChannel(_ push: PreparedPush) -> PreparedPush? {
        guard event == .start, let inputChannel, let payload = Payload.start(payload, onChannel: inputChannel) else {
            return nil
        }
        return PreparedPush(headers: push.headers, payload: payload)
    }
}
