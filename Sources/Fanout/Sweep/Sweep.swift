import LiveActivity
import Logging
import Store

/// Sweeps one shard of a push, or the catch-up after its shards. It reads, filters, sends and settles page after page,
/// at most `openPages` at a time. If the worker is killed, the worker that claims the entry continues after the last
/// settled page. Pages that were in flight are sent again.
struct Sweep: Sendable {
    enum End {
        case finished(Leftovers)
        /// Another worker has the shard, or Redis did not answer until the lease expired.
        case lost
        /// The worker drains (`pause` is zero) or the app's circuit is open (for `pause`). The rest waits for a turn.
        case interrupted(pause: Duration)
    }

    /// A page to settle: the tokens that it sends to, and what becomes of the other channels in the audience.
    struct Page: Sendable {
        var tokens = TokenPage()
        /// Channels that wait for an older push. This push joins their retry queues.
        var waiting: [[UInt8]] = []
        /// How many more channels are in the audience and get nothing, because their tokens are quarantined.
        var quarantined = 0
        /// For a start: how many more channels get nothing, because they follow already or an `end` came after it.
        var skipped = 0
        /// For a start: how many more channels get nothing, because their users dismissed the name's card.
        var dismissed = 0
        /// For a start: the page may be sent until this time on the worker's clock.
        var sendUntil: Int64?
        /// For a catch-up: the arrivals that this page processes.
        var arrivals: [CatchUpArrival] = []
        var isEmpty: Bool {
            tokens.isEmpty && waiting.isEmpty && arrivals.isEmpty && quarantined + skipped + dismissed == 0
        }
    }

    /// The reason in the ledger's `errors`.
    static let dismissed = "Dismissed"

    let delivery: PageDelivery
    let claim: Claim
    private let push: RenderedPush

    init(_ delivery: PageDelivery, _ claim: Claim) {
        self.delivery = delivery
        self.claim = claim
        push = RenderedPush(claim.record, for: delivery.app.senders, claim.lease.name)
    }

    var lease: Lease { claim.lease }
    var context: WorkerContext { delivery.context }
    var store: Store { delivery.store }

    func run() async -> End {
        if claim.hasPendingRemovals {
            // Apply pending removals before any read, because a token whose `end` was delivered gets nothing more.
            let applied: Void? = await delivery.ask { () async throws(StoreError) in
                try await context.applyPendingRemovals(lease.app, lease.name)
            }
            if applied == nil { return .lost }
        }
        if claim.record.state.isFinal { delivery.state.change { $0.isStopped = true } }
        if claim.isPoison {
            delivery.log.error(
                "task given up: too many workers in a row crashed or stalled", metadata: ["part": "\(lease.part)"])
            await settleRest(stop: "PoisonTask")
        } else {
            if lease.part == .catchUp { await catchUp() } else { await pages() }
            // The push failed or was cancelled. The rest is not read, and the name is free for its next push.
            let state = delivery.state.values
            if state.isStopped, state.leftovers == nil { await settleRest() }
        }
        let state = delivery.state.values
        for (push, tokens) in state.expired { await context.reportExpired(lease.app, push, tokens, delivery.log) }
        if state.isLost { return .lost }
        if let leftovers = state.leftovers { return .finished(leftovers) }
        if let pause = state.pause { return .interrupted(pause: pause) }
        return delivery.held.isLive ? .interrupted(pause: .zero) : .lost
    }

    /// Settles the rest of the shard without sending.
    /// - Parameter stop: the reason to stop the push early, if this worker stops it
    private func settleRest(stop: String? = nil) async {
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
        _ = await delivery.eachPage {
            while position < end, delivery.mayGoOn {
                if let done = ahead.first, done.lowerBound <= position {
                    position = max(position, done.upperBound)
                    unsettled = position
                    ahead.removeFirst()
                    continue
                }
                let limit = ahead.first?.lowerBound ?? end
                guard let (page, next) = await read(from: position, to: limit) else { return nil }
                position = next
                if page.isEmpty, position < limit { continue }
                let range = unsettled..<position
                unsettled = position
                return { await sendAndSettle(page, range, $0) }
            }
            return nil
        }
    }

    /// The next page in the audience; nil when Redis did not give it.
    private func read(from position: ScanPosition, to limit: ScanPosition) async -> (Page, ScanPosition)? {
        await delivery.ask { () async throws(StoreError) in
            if let starts = claim.record.startTokens {
                return try await startPage(
                    starts, from: position, to: limit, splits: push.hasVariant)
            }
            // The usual case of a name with few tokens: its push has begun with them.
            if position == .start, let (tokens, counts) = try store.tokens.readByBegin(claim),
                delivery.rate == nil || tokens.count <= delivery.pageSize,
                let page = try await makePage(tokens, counts, leavingOut: .catchingUp)
            {
                return (page, limit)
            }
            while true {
                let (tokens, next, counts) = try await store.tokens.markedPage(
                    lease.app, .activity(lease.name), from: position, to: limit, limit: delivery.pageSize)
                if let page = try await makePage(tokens, counts, leavingOut: .catchingUp) { return (page, next) }
            }
        }
    }

    /// Sorts a page into the channels that get the push and those that wait for an older push or are quarantined.
    /// - Parameter leavingOut: channels with this mark are left out
    /// - Returns: nil if the page has to be read again
    func makePage(
        _ tokens: TokenPage, _ counts: BlockCounts, leavingOut: SendBlock?
    ) async throws(StoreError) -> Page? {
        let cards = claim.record.targets(of: tokens)
        // The usual case: no channel of the name has a mark, and the push is for everyone.
        if counts.isEmpty, claim.record.audience == .all { return Page(tokens: cards) }
        let audience = try await store.channels.filter(lease.app, cards, claim.record.audience)
        guard
            let marks = try await store.tokens.marks(
                lease.app, .activity(lease.name), audience, counts, for: claim.record.event,
                sequence: claim.record.sequence)
        else { return nil }
        try await store.quarantine.forget(lease.app, .activity(lease.name), marks.outdated)
        if marks.isEmpty { return Page(tokens: audience) }
        let closed = try await context.closed(audience, marks.endsForSome(after: claim.record), lease.app, lease.name)
        var (page, routed) = (Page(), audience)
        var sent: Set<Int> = []
        for index in 0..<audience.count {
            if let leavingOut, marks[index].contains(leavingOut) { continue }
            if marks.isBefore(index, claim.record) || closed.contains(index) { continue }
            if marks[index].contains(.waiting) {
                page.waiting.append(Array(audience.channel(index)))
            } else if marks[index].contains(.quarantined) {
                page.quarantined += 1
            } else {
                if marks[index].contains(.elsewhere) { routed[route: index].insert(.elsewhere) }
                sent.insert(index)
            }
        }
        page.tokens = routed.filtered(sent.contains)
        return page
    }

    func sendAndSettle(_ page: Page, _ range: Range<ScanPosition>, _ place: PageSlot) async {
        guard let (delivered, sent) = await deliver(page, range, place) else { return }
        var settlement = delivered
        settlement.addQuarantined(page.quarantined)
        settlement.addSkipped(page.skipped)
        settlement.addSkipped(page.dismissed, reason: Self.dismissed)
        let reached = page.arrivals.isEmpty ? [] : sent?.reachedChannels(of: page.tokens) ?? []
        for arrival in page.arrivals { settlement.caughtUp(arrival, isReached: reached.contains(arrival.channel)) }
        await settle(settlement, sent)
    }

    /// Sends a page, unless the push has expired or is too large for tokens.
    /// - Returns: the settlement of the page, and the page if it was sent; nil if there is nothing to settle
    private func deliver(
        _ page: Page, _ range: Range<ScanPosition>, _ place: PageSlot
    ) async -> (Settlement, SentPage?)? {
        let count = page.tokens.count + page.waiting.count
        if count == 0 { return (Settlement(range: range), nil) }
        if !delivery.sendsNothing {
            guard await delivery.awaitTurn(page.tokens.count, of: lease.push) else { return nil }
        }
        if delivery.sendsNothing || store.time.now() >= claim.record.deadline {
            return (Settlement(unsent: count, as: .expired, range: range), nil)
        }
        var settlement = Settlement(range: range)
        if let refusal = push.refusal {
            settlement = Settlement(unsent: count, as: .failed, range: range)
            settlement.errors[refusal] = count
            return (settlement, nil)
        }
        var sent: SentPage?
        if !page.tokens.isEmpty {
            sent = await delivery.sendPage(
                page.tokens, of: claim.record, push, place, until: page.sendUntil, firstSize: firstSize)
            guard let sent else { return nil }
            settlement = Settlement(
                firstAttempt: page.tokens, sent, now: store.time.now(), staleBefore: context.staleBefore, range: range)
        }
        for channel in page.waiting {
            settlement.joinQueue(channel, mostAttempts: context.options.retries.inherited)
        }
        return (settlement, sent)
    }

    /// The push's size, in its first shard. The other shards begin at the same time, and each push counts once.
    private var firstSize: PushSize? {
        if case .shard(let index, _) = lease.part, index == 0 { PushSize(lease.part) } else { nil }
    }

    func settle(_ settlement: Settlement, _ sent: SentPage? = nil) async {
        await delivery.finish(as: .sweep(settlement, of: claim), sent)
    }
}
