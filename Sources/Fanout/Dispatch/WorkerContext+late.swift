import LiveActivity
import Logging
import Store

/// Late joiners. Each one is queued for the newest push that is for it and that no sweep delivers to it.
extension WorkerContext {
    /// The pause before the worker decides again about a late joiner whom an unswept push may still reach.
    static let lateInterval: Duration = .seconds(1)
    /// The most rounds of one entry. A round is repeated when a push has begun between reading the states and deciding.
    private static let mostRounds = 16

    /// Decides about the late joiners of a name. This needs no lease: one script decides about each, the first time.
    func decideLateJoiners(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        var (left, put) = (0, 0)
        for _ in 0..<Self.mostRounds {
            let states = try await store.lateJoiners.states(item.app, item.name)
            var (isOutdated, decided) = (false, 0)
            left = 0
            try await store.lateJoiners.each(item.app, item.name) { joiners throws(StoreError) in
                if isOutdated { return }
                let decisions = try await decide(joiners, states, item)
                guard let settled = try await store.lateJoiners.settle(item.app, item.name, states, decisions) else {
                    isOutdated = true
                    return
                }
                left = settled.left
                put += settled.put
                decided += decisions.count
            }
            if !isOutdated, left == 0 || decided == 0 { break }
        }
        // Look for due retries even if this call queued none, because a worker that died here may have queued some.
        if let first = try await store.sweeps.leftovers(item.app, item.name).firstRetry {
            if first <= store.time.now() {
                try await store.queue.add([.retries(item.app, item.name, .high)])
            } else {
                try await scheduleRetries(item.app, item.name, .high, first)
            }
        }
        if put > 0 { log.debug("late joiners are queued", metadata: ["channels": "\(put)"]) }
        if left > 0 { try await store.queue.schedule(item, due: store.time.now() + Self.lateInterval.milliseconds) }
        return .acknowledge
    }

    /// Decides about late joiners. Skips a joiner if a push that has not begun may still reach it: that push may be
    /// cancelled.
    private func decide(
        _ joiners: [LateJoiner], _ states: CurrentStates, _ item: WorkItem
    ) async throws(StoreError) -> [(LateJoiner, LateDecision)] {
        var undecided = Dictionary(joiners.map { ($0.channel, $0) }) { _, last in last }
        var decisions: [(LateJoiner, LateDecision)] = []
        var (page, _) = try await store.tokens.lookup(item.app, .activity(item.name), Array(undecided.keys))
        let now = store.time.now()
        // An `end` after the start of a card is for that card, whatever was published under the name since.
        for record in states.kept where record.event == .end {
            let started = page.filtered { undecided[Array(page.channel($0))]?.wasStarted == true }
            if started.isEmpty { break }
            let audience = try await store.channels.filter(item.app, started, record.audience)
            for index in 0..<audience.count {
                let channel = Array(audience.channel(index))
                guard let joiner = undecided[channel], record.sequence > joiner.after else { continue }
                undecided[channel] = nil
                decisions.append((joiner, joiner.decision(on: record, now: now)))
            }
            page = page.filtered { [page] in undecided[Array(page.channel($0))] != nil }
        }
        for (record, hasBegun) in states.notBegun.map({ ($0, false) }) + states.kept.map({ ($0, true) }) {
            if page.isEmpty { break }
            // Automatic ends are for old cards only, and starts for channels without a card.
            if record.event == .start || record.isAutomatic { continue }
            let audience = try await store.channels.filter(item.app, page, record.audience)
            if audience.isEmpty { continue }
            for index in 0..<audience.count {
                let channel = Array(audience.channel(index))
                guard let joiner = undecided.removeValue(forKey: channel), hasBegun else { continue }
                decisions.append((joiner, joiner.decision(on: record, now: now)))
            }
            page = page.filtered { [page] in undecided[Array(page.channel($0))] != nil }
        }
        // The others are not tracked any more, or no push was ever published for them.
        return decisions + undecided.values.map { ($0, .drop) }
    }
}

extension LateJoiner {
    /// Decides about this late joiner.
    /// - Parameter record: the newest push for this channel that has begun
    /// - Returns: `drop` if that push's own sweep or the channel's retry queue has the channel, or if the push is over
    func decision(on record: PushRecord, now: Int64) -> LateDecision {
        guard record.sequence <= upTo, record.sequence > after, !record.isTooLarge else {
            return .drop
        }
        // It waits for the token already, or was sent since. That is unknown of a stopped push, which only late joiners
        // get from a queue. An `end` in the queue is for the card before this one.
        let isStopped = record.state.isFinal && record.state != .done
        if record.id == waitsFor, record.event == .update, !isStopped { return .drop }
        // An `end` from before the channel began to follow is not for it, unless the channel was started before that.
        if record.event == .end, !wasStarted { return .drop }
        return now < min(record.deadline, record.createdAt + LateJoiners.life.milliseconds)
            ? .put(record.id, sequence: record.sequence) : .drop
    }
}
