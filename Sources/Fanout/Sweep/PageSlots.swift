import Synchronization

/// The places for pages that a run sends at once. A page gives its place back when it is nearly done, so that the pages
/// behind it do not wait for its slowest requests.
final class PageSlots: Sendable {
    /// The most pages that are nearly done and still wait for some answers.
    static let mostNearlyDone = 16

    private struct State {
        var free: Int
        var running = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>
    private let most: Int

    init(_ places: Int) {
        most = places + Self.mostNearlyDone
        state = Mutex(State(free: places))
    }

    /// Waits for a place. One task at a time may ask.
    func take() async -> PageSlot {
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            let mayGo = state.withLock { state in
                if isFree(state) { return true }
                state.waiter = waiter
                return false
            }
            if mayGo { waiter.resume() }
        }
        state.withLock { state in
            state.free -= 1
            state.running += 1
        }
        return PageSlot(self)
    }

    private func isFree(_ state: State) -> Bool { state.free > 0 && state.running < most }

    fileprivate func giveBack(isDone: Bool, isFirst: Bool) {
        let waiter = state.withLock { state in
            if isFirst { state.free += 1 }
            if isDone { state.running -= 1 }
            return isFree(state) ? state.waiter.take() : nil
        }
        waiter?.resume()
    }
}

/// A page's place.
final class PageSlot: Sendable {
    private let places: PageSlots
    private let isGivenBack = Atomic(false)

    fileprivate init(_ places: PageSlots) { self.places = places }

    /// Lets another page begin.
    func nearlyDone() { giveBack(isDone: false) }
    /// The page is settled.
    func done() { giveBack(isDone: true) }

    private func giveBack(isDone: Bool) {
        let isFirst = !isGivenBack.exchange(true, ordering: .relaxed)
        if isDone || isFirst { places.giveBack(isDone: isDone, isFirst: isFirst) }
    }
}
