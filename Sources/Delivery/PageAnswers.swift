internal import LiveActivity
internal import Synchronization

/// The answers to the requests of one page. Lanes add them, each from its own thread. The sender gets the page back
/// when each entry has an outcome or, if it takes open requests, when the rest has waited for longer than a lane's
/// patience. The answers to open requests come later, through `next`.
package final class PageAnswers: Sendable, Hashable {
    private struct State {
        var outcome = PageOutcome()
        /// Entries that have no outcome, and whose requests are not open.
        var remaining: Int
        var open: Set<Int> = []
        /// Until the sender has the page back.
        var sender: CheckedContinuation<PageOutcome, Never>?
        /// Answers to open requests that the sender has not fetched.
        var late: [PageOutcome.Exception] = []
        var reader: CheckedContinuation<[PageOutcome.Exception], Never>?
        var nearlyDone: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>
    /// The sent entries' indices in the page of which they are a part. Nil: they are the whole page.
    private let numbers: [Int]?
    /// With so few entries left the page is nearly done.
    private let few: Int
    /// The sender takes the page back while some requests are open.
    package let takesOpen: Bool

    private let load: RequestCount

    package init(
        _ count: Int, of numbers: [Int]? = nil, _ handover: Handover?, _ load: RequestCount,
        _ sender: CheckedContinuation<PageOutcome, Never>
    ) {
        self.numbers = numbers
        few = count / Handover.nearlyDoneShare
        takesOpen = handover != nil
        self.load = load
        state = Mutex(State(remaining: count, sender: sender, nearlyDone: handover?.nearlyDone))
    }

    /// Adds the outcomes of some entries, and the requests of the part that are left open. Each entry of the page is
    /// added once.
    package func add(_ part: PageOutcome) {
        let count = part.accepted + part.exceptions.count + part.open.count
        guard count > 0 else { return }
        let (nearlyDone, whole) = state.withLock { state in
            state.outcome.accepted += part.accepted
            state.outcome.exceptions += part.exceptions
            state.open.formUnion(part.open)
            state.remaining -= count
            let nearlyDone = state.remaining <= few ? state.nearlyDone.take() : nil
            return (nearlyDone, state.remaining == 0 ? take(&state) : nil)
        }
        nearlyDone?()
        if let (sender, outcome) = whole { sender.resume(returning: outcome) }
    }

    private func take(_ state: inout State) -> (CheckedContinuation<PageOutcome, Never>, PageOutcome)? {
        guard let sender = state.sender.take() else { return nil }
        var outcome = state.outcome
        state.outcome = PageOutcome()
        outcome.exceptions = numbered(outcome.exceptions.sorted { $0.index < $1.index })
        outcome.open = state.open.sorted().map { numbers?[$0] ?? $0 }
        outcome.late = outcome.open.isEmpty ? [] : [self]
        return (sender, outcome)
    }

    private func numbered(_ found: [PageOutcome.Exception]) -> [PageOutcome.Exception] {
        guard let numbers else { return found }
        return found.map { PageOutcome.Exception(index: numbers[$0.index], outcome: $0.outcome) }
    }

    /// Adds the answer to an open request.
    package func addLate(_ index: Int, _ outcome: PushOutcome) {
        let ready: (CheckedContinuation<[PageOutcome.Exception], Never>, [PageOutcome.Exception])? =
            state.withLock { state in
                state.open.remove(index)
                guard state.sender == nil else {
                    // The rest of the page is still on its way, so this answer is in time.
                    if outcome == .accepted {
                        state.outcome.accepted += 1
                    } else {
                        state.outcome.exceptions.append(.init(index: index, outcome: outcome))
                    }
                    return nil
                }
                state.late.append(.init(index: index, outcome: outcome))
                load.add(-1)
                guard let reader = state.reader.take() else { return nil }
                defer { state.late = [] }
                return (reader, state.late)
            }
        if let (reader, late) = ready { reader.resume(returning: late) }
    }

    /// Waits for answers to open requests of the page that the sender has back. One task at a time may ask.
    /// - Returns: what has come since the last call, also acceptances; empty once each open request had its answer
    package func next() async -> [PageOutcome.Exception] {
        let found: [PageOutcome.Exception] = await withCheckedContinuation { reader in
            let ready: [PageOutcome.Exception]? = state.withLock { state in
                if state.late.isEmpty, !state.open.isEmpty {
                    state.reader = reader
                    return nil
                }
                defer { state.late = [] }
                return state.late
            }
            if let ready { reader.resume(returning: ready) }
        }
        return numbered(found)
    }

    /// The answers that came since the last call.
    package func more() -> [PageOutcome.Exception] {
        let found = state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
        return numbered(found)
    }

    package static func == (one: PageAnswers, other: PageAnswers) -> Bool { one === other }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Requests that wait or are in flight.
package final class RequestCount: Sendable {
    private let count = Atomic(0)

    package init() {}

    package var value: Int { count.load(ordering: .relaxed) }
    package func add(_ requests: Int) { count.add(requests, ordering: .relaxed) }
}
