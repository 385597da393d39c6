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
            if states.allWait {
                left = 1
                break
            }
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

    /// Decides about late joiners. Skips a joiner if a push that is not swept yet may still reach it: that push may be
    /// cancelled.
    private func decide(
        _ joiners: [LateJoiner], _ states: CurrentStates, _ item: WorkItem
    ) async throws(StoreError) -> [(LateJoiner, LateDecision)] {
        var undecided = Dictionary(joiners.map { ($0.channel, $0) }) { _, last in last }
        var decisions: [(LateJoiner, LateDecision)] = []
        var (page, _) = try await store.tokens.lookup(item.app, .activity(item.name), Array(undecided.keys))
        for index in page.entries.indices {
            undecided[Array(page.channel(index))]?.platform = page.entries[index].platform
        }
        let now = store.time.now()
        // An `end` after the start of a card is for that card, whatever was published under the name since.
        for record in states.kept where record.event == .end {
            let started = page.filtered { undecided[Array(page.channel($0))]?.wasStarted == true }
            if started.isEmpty { break }
            let audience = try await store.channels.filter(item.app, record.targets(of: started), record.audience)
            for index in 0..<audience.count {
                let channel = Array(audience.channel(index))
                guard let joiner = undecided[channel], record.sequence > joiner.after else { continue }
                undecided[channel] = nil
                decisions.append((joiner, joiner.decision(on: record, now: now)))
            }
            page = page.filtered { [page] in undecided[Array(page.channel($0))] != nil }
        }
        var choices = undecided.mapValues { LateChoice(joiner: $0) }
        for (record, isSwept) in states.all where record.isState {
            if page.isEmpty { break }
            let audience = try await store.channels.filter(item.app, record.targets(of: page), record.audience)
            for index in 0..<audience.count {
                choices[Array(audience.channel(index))]?.take(record, isSwept: isSwept)
            }
            page = page.filtered { [page] in choices[Array(page.channel($0))]?.isMade == false }
        }
        // Channels that are not tracked any more, or for which no push was published, have chosen nothing.
        return decisions + choices.values.compactMap { choice in choice.decision(now: now).map { (choice.joiner, $0) } }
    }
}

/// The pushes that are a late joiner's state, looked through from the newest to the oldest.
struct LateChoice {
    let joiner: LateJoiner
    /// A push is for it that is not swept yet.
    private var waits = false
    /// The newest push that is swept, and the one before it, if the newest may still fall.
    private var newest: PushRecord?
    private var older: PushRecord?
    private(set) var isMade = false

    init(joiner: LateJoiner) { self.joiner = joiner }

    /// Takes the next older push whose audience has the channel.
    mutating func take(_ record: PushRecord, isSwept: Bool) {
        if isMade { return }
        if !isSwept {
            waits = true
        } else if newest == nil {
            newest = record
            isMade = !record.mayFall
        } else {
            older = record
            isMade = true
        }
    }

    /// - Returns: nil if it is not decided yet
    func decision(now: Int64) -> LateDecision? {
        // A finished sweep had the channel, or a push that is not swept yet will find it.
        let isSwept = newest.map { joiner.isSwept(by: $0) && !$0.isStopped } ?? false
        if waits, !isSwept { return nil }
        return newest.map { joiner.decision(on: $0, before: older, now: now) } ?? .drop
    }
}

extension PushRecord {
    /// Stopped or cancelled. Its sweep may have missed a channel then.
    fileprivate var isStopped: Bool { state.isFinal && state != .done }
}

extension LateJoiner {
    /// Decides about this late joiner.
    /// - Parameters:
    ///   - record: the newest push for this channel whose sweep is over
    ///   - older: the push before that one, which comes back if that one falls
    /// - Returns: `drop` if that push's own sweep or the channel's retry queue has the channel, or if the push is over
    func decision(on record: PushRecord, before older: PushRecord? = nil, now: Int64) -> LateDecision {
        guard record.sequence > after, !record.isTooLarge else { return .drop }
        // The push waits for the token already, or was sent since. For a stopped push this is unknown, because only
        // late joiners get it from a queue. An `end` in the queue is for the card before this one.
        if record.id == waitsFor, record.event == .update, !record.isStopped { return .drop }
        // An `end` from before the channel began to follow is not for it, unless the channel was started before that.
        if record.event == .end, !wasStarted { return .drop }
        func isOver(_ push: PushRecord) -> Bool {
            now >= min(push.deadline, push.createdAt + LateJoiners.life.milliseconds)
        }
        let fallback = older.flatMap { push in
            push.event == .update && push.sequence > after && !push.isTooLarge && !isOver(push) ? push.id : nil
        }
        // The push's own sweep had the channel, so at most the fallback is missing.
        if isSwept(by: record), !record.isStopped, fallback == nil { return .drop }
        if isOver(record) { return fallback.map { .put($0) } ?? .drop }
        return .put(record.id, before: fallback)
    }
}
