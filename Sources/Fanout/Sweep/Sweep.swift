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
        /// A channel that waits for an older push.
        struct Waiting: Sendable {
            var channel: [UInt8]
            var platform: Platform
        }

        var tokens = TokenPage()
        /// This push joins their retry queues.
        var waiting: [Waiting] = []
        /// How many more channels are in the audience and get nothing.
        var leftOut: [LeftOut: Int] = [:]
        /// For a start: the page may be sent until this time on the worker's clock.
        var sendUntil: Int64?
        /// For a catch-up: the arrivals that this page processes.
        var arrivals: [CatchUpArrival] = []
        var isEmpty: Bool {
            tokens.isEmpty && waiting.isEmpty && arrivals.isEmpty && leftOut.isEmpty
        }
    }

    /// The reason in the ledger's `errors`.
    static let dismissed = "Dismissed"

    private static let look: Duration = .milliseconds(500)

    let delivery: PageDelivery
    let claim: Claim
    private let push: RenderedPush

    init(_ delivery: PageDelivery, _ claim: Claim) {
        self.delivery = delivery
        self.claim = claim
        push = RenderedPush(
            claim.record, for: delivery.app.senders, claim.lease.name,
            to: claim.lease.part == .catchUp ? .arrivals : .followers)
        delivery.state.change {
            $0.othersWait = claim.othersWait
            if claim.record.isForSeveral, delivery.app.senders.count > 1 {
                $0.parking = claim.isSplit ? .ifOthersWait : .always
            }
        }
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
        if claim.lapses == .tooMany {
            await settleRest(stop: "PoisonTask")
        } else {
            if lease.part == .catchUp {
                await catchUp()
            } else if claim.isSplit {
                await withTaskGroup { group in
                    group.addTask { await watchName() }
                    await pages()
                    group.cancelAll()
                }
            } else {
                await pages()
            }
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

    /// Looks whether another push of the name waits for the end of this sweep. A page may wait long for its platform,
    /// and nothing is settled meanwhile.
    private func watchName() async {
        while delivery.mayGoOn {
            do { try await Task.sleep(for: Self.look) } catch { return }
            guard let left = try? await store.sweeps.leftovers(lease.app, lease.name) else { continue }
            delivery.state.change { $0.othersWait = left.unswept > 1 }
        }
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
            if claim.record.event == .start {
                // A start for several platforms is split, so that a shard reads one place.
                let places = claim.record.startPlaces.filter { claim.takes($0.addressPlatform ?? .ios) }
                guard let place = places.first else { return (Page(), limit) }
                return try await startPage(place, from: position, to: limit, splits: push.hasVariant)
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

    /// Sorts a page into the channels that get the push, and the channels that wait for an older push or are
    /// quarantined.
    /// - Parameter leavingOut: channels with this mark are left out
    /// - Returns: nil if the page has to be read again
    func makePage(
        _ tokens: TokenPage, _ counts: BlockCounts, leavingOut: SendBlock?
    ) async throws(StoreError) -> Page? {
        let cards = targets(of: tokens)
        // The usual case: no channel of the name has a mark, and the push is for everyone.
        if counts.isEmpty, claim.record.audience == .all { return try await addressed(Page(tokens: cards)) }
        let audience = try await store.channels.filter(lease.app, cards, claim.record.audience)
        guard
            let marks = try await store.tokens.marks(
                lease.app, .activity(lease.name), audience, counts, for: claim.record.event,
                sequence: claim.record.sequence)
        else { return nil }
        try await store.quarantine.forget(lease.app, .activity(lease.name), marks.outdated)
        if marks.isEmpty { return try await addressed(Page(tokens: audience)) }
        let closed = try await context.closed(audience, marks.endsForSome(after: claim.record), lease.app, lease.name)
        var (page, routed) = (Page(), audience)
        var sent: Set<Int> = []
        for index in 0..<audience.count {
            if let leavingOut, marks[index].contains(leavingOut) { continue }
            if marks.isBefore(index, claim.record) || closed.contains(index) { continue }
            if marks[index].contains(.waiting) {
                page.waiting.append(.init(audience, index))
            } else if marks[index].contains(.quarantined) {
                page.leaveOut(audience.entries[index].platform, .unreachable(.quarantined))
            } else {
                if marks[index].contains(.elsewhere) { routed[route: index].insert(.elsewhere) }
                sent.insert(index)
            }
        }
        if page.waiting.count > Settlement.mostJoins, delivery.pageSize > Settlement.mostJoins {
            delivery.state.change { $0.mostTokens = Settlement.mostJoins }
            return nil
        }
        page.tokens = routed.filtered(sent.contains)
        return try await addressed(page)
    }

    /// The entries that the push is for and that are this shard's.
    private func targets(of page: TokenPage) -> TokenPage {
        let targets = claim.record.targets(of: page)
        return targets.platforms.allSatisfy(claim.takes)
            ? targets : targets.filtered { claim.takes(targets.entries[$0].platform) }
    }

    /// The page with the addresses that are kept with the channels, without the channels that have none.
    private func addressed(_ page: Page) async throws(StoreError) -> Page {
        var page = page
        let (tokens, unreachable) = try await store.tokens.addressed(lease.app, page.tokens, for: claim.record)
        page.tokens = tokens
        page.leaveOut(unreachable)
        return page
    }

    func sendAndSettle(_ page: Page, _ range: Range<ScanPosition>, _ place: PageSlot) async {
        guard let (delivered, sent) = await deliver(page, range, place) else { return }
        var settlement = delivered
        for (one, number) in page.leftOut { settlement.add(one, number) }
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
            return (
                Settlement(unsent: page.tokens, page.waiting, as: .expired, range: range), nil
            )
        }
        var settlement = Settlement(range: range)
        if let refusal = push.refusal {
            settlement = Settlement(unsent: page.tokens, page.waiting, as: .failed, range: range)
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
        for one in page.waiting {
            settlement.joinQueue(one.channel, mostAttempts: context.options.retries.inherited, on: one.platform)
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

extension Claim {
    /// Whether the part is a shard of a push for several platforms that is for the followers on some of them only.
    var isSplit: Bool {
        if case .shard(_, let count) = lease.part { count > 1 && record.isForSeveral } else { false }
    }

    /// Whether the part is for the followers on a platform.
    func takes(_ platform: Platform) -> Bool {
        !isSplit || lease.part.isForOtherPlatforms == platform.countsApart
    }
}

extension Sweep.Page.Waiting {
    /// The channel of an entry.
    init(_ page: TokenPage, _ index: Int) {
        self.init(channel: Array(page.channel(index)), platform: page.entries[index].platform)
    }
}

extension Sweep.Page {
    mutating func leaveOut(_ platform: Platform, _ why: LeftOut.Why, _ number: Int = 1) {
        leftOut[LeftOut(platform: platform, why: why), default: 0] += number
    }

    /// Takes entries out of the page, by index.
    mutating func leaveOut(_ reasons: [Int: Unreachable]) {
        if reasons.isEmpty { return }
        for (index, reason) in reasons { leaveOut(tokens.entries[index].platform, .unreachable(reason)) }
        tokens = tokens.filtered { reasons[$0] == nil }
    }
}

/// Why channels of a page get nothing, though they are in the audience.
struct LeftOut: Hashable {
    enum Why: Hashable {
        /// For a start: they follow already, or an `end` came after it.
        case needless
        /// For a start: their users dismissed the name's card.
        case dismissed
        case unreachable(Unreachable)
    }

    var platform: Platform
    var why: Why
}

extension Settlement {
    fileprivate mutating func add(_ one: LeftOut, _ number: Int) {
        switch one.why {
        case .needless: addSkipped(number, on: one.platform)
        case .dismissed: addSkipped(number, reason: Sweep.dismissed, on: one.platform)
        case .unreachable(.quarantined): addQuarantined(number, on: one.platform)
        case .unreachable(let reason): addSkipped(number, reason: reason.rawValue, on: one.platform)
        }
    }
}
