import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store
import Synchronization

/// Sweeps one shard of a push, or the catch-up after its shards. It reads, filters, sends and settles page after page,
/// several pages at a time. At most `openPages` pages are in memory, whatever the size of the shard.
///
/// If the worker is killed, the worker that claims the entry continues after the last settled page. Pages that were in
/// flight are sent again.
struct Sweep: Sendable {
    enum End {
        case finished(Leftovers)
        /// Another worker has the shard, or Redis did not answer until the lease expired.
        case lost
        /// The worker drains (`rest` is zero) or the app rests (for `rest`). The remainder of the shard waits for
        /// another turn.
        case interrupted(rest: Duration)
    }

    /// A page to send, with the channels in the audience that wait for an older push.
    struct Page: Sendable {
        var tokens = TokenPage()
        var held: [[UInt8]] = []
        /// How many more channels are in the audience and get nothing, because their tokens are quarantined.
        var quarantined = 0
        /// For a start: how many more channels are in the audience but follow already, or for which the name has ended.
        var skipped = 0
        /// Indices of the `tokens` that live in the app's other APNs environment.
        var elsewhere: Set<Int> = []
        /// For a start: indices of the tokens whose activities are to take updates from the name's broadcast channel.
        var onBroadcastChannel: Set<Int> = []
        /// For a start: the page may be sent until this time on the boot clock.
        var sendUntil: Int64?
        /// For a catch-up: the arrivals that this page processes.
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
    /// For a start: the variant for the tokens in `Page.onBroadcastChannel`.
    private let channelPush: PreparedPush?
    private let deadline: Int64
    private let state = Progress()

    /// State that the pages of one sweep share.
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
        channelPush = claim.record.onBroadcastChannel(push)
        deadline = claim.record.deadline
    }

    var lease: Lease { claim.lease }

    func run() async -> End {
        if claim.owesRemovals {
            // Apply pending removals before any read, because a token whose `end` was delivered gets nothing more.
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
            // The push failed or was cancelled. The rest is not read, and the name is free for its next push.
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
        // A page without channels in the audience is settled together with the next page that has some.
        var unsettled = position
        await withDiscardingTaskGroup { group in
            let open = AsyncSemaphore(sweeper.options.openPages)
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

    /// Sorts a page into the channels that get the push and those that wait for an older push or are quarantined.
    /// - Parameter setAside: channels with this mark are left out
    /// - Returns: nil if the page has to be read again
    func sorted(
        _ tokens: TokenPage, _ signs: BlockHints, setAside: SendBlocks.Mark?
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
            // The push was accepted for a broadcast channel alone: it is too large for a token.
            let count = page.tokens.count + page.held.count
            settlement = Settlement(unsent: count, as: .failed, range: range)
            settlement.errors[RejectionReason.Known.payloadTooLarge.rawValue] = count
        } else {
            settlement = Settlement(range: range)
            if !page.tokens.isEmpty {
                // Check the lease, because this may come late or after a suspension. Nothing is sent on a lost lease.
                guard held.isLive else { return lose() }
                let report = await sweeper.deliver(
                    page.tokens, push, app, claim.record, lease.name, elsewhere: page.elsewhere,
                    apart: channelPush.map { ($0, page.onBroadcastChannel) }, deadline: deadline, while: held,
                    until: page.sendUntil)
                if let rest = await sweeper.rest(lease.app, report, log) { state.values.withLock { $0.rest = rest } }
                if report.isUnsent {
                    guard held.isLive else { return lose() }
                    // Nothing left this machine. This worker reads the page again when the app is back; another one
                    // does if this one drains. Pause also if a transport returns pages without a reason.
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
                    settlement.owed.map { PendingRemoval(push: lease.push, prune: $0) }, lease.app, lease.name)
            }
            // Without that the entry stays pending, and the worker that claims it finds the remaining work.
            if seenTo == nil { lose() }
        }
    }
}

extension HeldLease {
    /// Repeats a call that Redis could not answer, while the lease is live. The call must be safe to repeat.
    /// - Returns: nil when the lease has expired, or at once for an error that does not pass by itself. Repeating such
    ///   a call would hold a place of the worker for ever.
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
    /// The entries of a page that the push is for: for an automatic end, those whose cards are old enough.
    func targets(of page: TokenPage) -> TokenPage {
        isAutomatic ? page.filtered { isFor(startedAt: page.entries[$0].startedAt) } : page
    }

    /// The payload that goes out, the same for all tokens except some of a start. An automatic end shows the content
    /// state of the update in `shown`.
    private var rendered: [UInt8] { isAutomatic ? Payload.end(payload, showing: shown) : payload }

    /// The push as it is sent to a token.
    /// - Parameter isLate: a late joiner gets the content state without the alert, because the alert told about the
    ///   past
    func prepared(bundleID: String, _ name: ActivityName, isLate: Bool = false) -> PreparedPush {
        PreparedPush(
            headers: PushHeaders(
                bundleID: bundleID, priority: demotion == .all ? .low : priority, expiration: expiry,
                collapseID: event == .start ? CollapseID.start(name) : nil),
            // APNs refuses a start without an alert.
            payload: isLate && event != .start ? Payload.withoutAlert(rendered) : rendered)
    }

    /// The variant of a start for devices that can take updates from the name's broadcast channel; nil if there is
    /// none.
    func onBroadcastChannel(_ push: PreparedPush) -> PreparedPush? {
        guard event == .start, let inputChannel, let payload = Payload.start(payload, onBroadcastChannel: inputChannel)
        else {
            return nil
        }
        return PreparedPush(headers: push.headers, payload: payload)
    }
}
