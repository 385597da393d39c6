import LiveActivity
import Store
import Synchronization

/// A semaphore with a fixed number of places. A caller that finds no place waits in order.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

    var free: Int { state.withLock { $0.free } }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

/// Set once, when the worker is asked to stop. No new page begins after that.
final class Drain: Sendable {
    private let flag = Atomic(false)
    var isOn: Bool { flag.load(ordering: .acquiring) }
    func begin() { flag.store(true, ordering: .releasing) }
}

/// The leases and stream entries that this worker holds, for the timer that renews them.
final class LeaseKeeper: Sendable {
    private struct State {
        var leases: [Lease: HeldLease] = [:]
        var entries: Set<WorkEntry> = []
    }
    private let state = Mutex(State())

    func hold(_ lease: Lease, _ held: HeldLease) { state.withLock { $0.leases[lease] = held } }
    func release(_ lease: Lease) { state.withLock { _ = $0.leases.removeValue(forKey: lease) } }

    /// Notes an entry that this worker begins to process.
    /// - Returns: false if the worker processes the entry already: it claimed its own entry, which waited long for its
    ///   turn
    func take(_ entry: WorkEntry) -> Bool {
        state.withLock { state in
            if state.entries.contains(where: { $0.id == entry.id && $0.item == entry.item }) { return false }
            return state.entries.insert(entry).inserted
        }
    }
    func putDown(_ entry: WorkEntry) { state.withLock { _ = $0.entries.remove(entry) } }

    var inHand: (leases: [(Lease, HeldLease)], entries: [WorkEntry]) {
        state.withLock { ($0.leases.map { ($0.key, $0.value) }, Array($0.entries)) }
    }
}
