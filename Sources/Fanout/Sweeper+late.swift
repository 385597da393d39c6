import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store

/// Late followers: each is put in line for the newest state that is for it and that no sweep brings it.
extension Sweeper {
    /// What waits to be swept may cover a follower: then it is looked at again after this time.
    static let lateInterval: Duration = .seconds(1)
    /// Times that a push is taken up between reading the states and deciding, in one turn.
    private static let mostTurns = 16

    /// Needs no lease: each follower is decided about in one script, and by whoever comes first.
    func late(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        var (left, put) = (0, 0)
        for _ in 0..<Self.mostTurns {
            let states = try await store.lateFollowers.states(item.app, item.name)
            var (isOutdated, decided) = (false, 0)
            left = 0
            try await store.lateFollowers.each(item.app, item.name) { followers throws(StoreError) in
                if isOutdated { return }
                let decisions = try await decide(followers, states, item)
                guard let settled = try await store.lateFollowers.settle(item.app, item.name, states, decisions)
                else {
                    isOutdated = true
                    return
                }
                left = settled.left
                put += settled.put
                decided += decisions.count
            }
            if !isOutdated, left == 0 || decided == 0 { break }
        }
        // Whoever died before this left the entry or its lines: it is looked for them whether or not somebody was put there now.
        if let first = try await store.sweeps.leftovers(item.app, item.name).firstRetry {
            if first <= store.time.now() {
                try await store.queue.add([.retries(item.app, item.name, .high)])
            } else {
                try await scheduleRetries(item.app, item.name, .high, first)
            }
        }
        if put > 0 { log.debug("late followers are in line", metadata: ["channels": "\(put)"]) }
        if left > 0 {
            try await store.queue.schedule(item, due: store.time.now() + Self.lateInterval.milliseconds)
        }
        return .acknowledge
    }

    /// Without those for whom the sweep of a push that waits is to be awaited: that push may yet be cancelled.
    private func decide(
        _ followers: [LateFollower], _ states: CurrentStates, _ item: WorkItem
    ) async throws(StoreError) -> [(LateFollower, LateDecision)] {
        var open = Dictionary(followers.map { ($0.channel, $0) }) { _, last in last }
        var decisions: [(LateFollower, LateDecision)] = []
        var (page, _) = try await store.registry.lookup(item.app, item.name, Array(open.keys))
        let now = store.time.now()
        // What ended the card of one that was started is its own, whatever the name told others since.
        let ends = states.kept.filter { $0.event == .end }
        if !ends.isEmpty {
            var started = page.filtered { open[Array(page.channel($0))]?.wasStarted == true }
            for record in ends where !started.isEmpty {
                let audience = try await store.channels.filter(item.app, started, record.audience)
                for index in 0..<audience.count {
                    let channel = Array(audience.channel(index))
                    guard let follower = open[channel], record.sequence > follower.after else { continue }
                    open[channel] = nil
                    decisions.append((follower, follower.decision(on: record, now: now)))
                }
                started = started.filtered { [started] in open[Array(started.channel($0))] != nil }
            }
            page = page.filtered { [page] in open[Array(page.channel($0))] != nil }
        }
        for (record, waits) in states.waiting.map({ ($0, true) }) + states.kept.map({ ($0, false) }) {
            if page.isEmpty { break }
            // What is for old cards alone is not awaited.
            if record.event == .start || record.isAutomatic { continue }
            let audience = try await store.channels.filter(item.app, page, record.audience)
            var covered: Set<[UInt8]> = []
            for index in 0..<audience.count {
                let channel = Array(audience.channel(index))
                covered.insert(channel)
                guard let follower = open.removeValue(forKey: channel), !waits else { continue }
                decisions.append((follower, follower.decision(on: record, now: now)))
            }
            if covered.count == page.count {
                page = TokenPage()
            } else if !covered.isEmpty {
                let rest = page
                page = rest.filtered { !covered.contains(Array(rest.channel($0))) }
            }
        }
        // Not tracked any more, or nothing was ever published for them.
        return decisions + open.values.map { ($0, .drop) }
    }
}

extension Sweeper {
    /// Before a page of a start is sent: its channels are awaited. A device may tell its token before the page's last answer comes,
    /// and what is published from then on is kept for it.
    /// - Parameter onChannel: entries whose activities take their updates from a broadcast channel: they tell no token.
    /// - Returns: notes of starts before it, by the page's index; nil if the lease ran out over it.
    func expectTokens(
        _ page: TokenPage, _ app: AppKey, _ record: PushRecord, _ name: ActivityName, besides onChannel: Set<Int>,
        while held: HeldLease
    ) async -> [Int: [UInt8]]? {
        let indices = page.entries.indices.filter { !onChannel.contains($0) }
        let before = await held.whileLive(logger) { () async throws(StoreError) in
            try await store.lateFollowers.expect(
                app, name, indices.map { Array(page.channel($0)) }, startedBy: record.sequence, now: store.time.now())
        }
        return before.map { Dictionary(zip(indices, $0).compactMap { index, note in note.map { (index, $0) } }) { $1 } }
    }

    /// … and after it: those whose only attempt was refused for good got no card by it. Who is left out here by a death is awaited
    /// for nothing.
    func expectNoTokens(
        _ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport, _ app: AppKey, _ name: ActivityName,
        before: [Int: [UInt8]], while held: HeldLease
    ) async {
        let answered = Set(
            outcome.exceptions.filter { if case .rejected = $0.outcome { true } else { false } }.map(\.index))
        let unreached = report.exceptions.filter { exception in
            if case .retry = exception.decision { return false }
            return page.entries[exception.index].attempt == 0 && answered.contains(exception.index)
        }
        if unreached.isEmpty { return }
        _ = await held.whileLive(logger) { () async throws(StoreError) in
            try await store.lateFollowers.expectNothing(
                app, name, unreached.map { (Array(page.channel($0.index)), before[$0.index]) })
        }
    }
}

extension PageReport {
    /// Of a page that was not sent because its lease is lost.
    init(lost page: TokenPage) {
        let cancelled = PushOutcome.unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false))
        self.init(
            page, PageOutcome(all: page, cancelled), now: 0, deadline: .max, triesOnce: false, backoff: Backoff(),
            rest: { _ in .zero }, random: { 0 })
    }
}

extension LateFollower {
    /// `record` is the newest push for this channel among those that were taken up. Its own sweep had the channel, or it is
    /// to be brought to it now, or it is over.
    func decision(on record: PushRecord, now: Int64) -> LateDecision {
        guard record.sequence <= upTo, record.sequence > after, record.payload.count <= Payload.maximumBytes else {
            return .drop
        }
        // What ended before it began to follow is not its own, unless it was started before that.
        if record.event == .end, !wasStarted { return .drop }
        return now < min(record.deadline, record.createdAt + LateFollowers.life.milliseconds)
            ? .put(record.id, sequence: record.sequence) : .drop
    }
}
