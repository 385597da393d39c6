import Store
import Synchronization

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
