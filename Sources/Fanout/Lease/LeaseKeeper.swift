import Store
import Synchronization

/// The leases and stream entries that this worker holds, for the timer that renews them.
final class LeaseKeeper: Sendable {
    private struct State {
        var leases: [ObjectIdentifier: HeldLease] = [:]
        var entries: [WorkEntry.StreamPosition: WorkEntry] = [:]
    }
    private let state = Mutex(State())
    private let now: @Sendable () -> Int64

    /// - Parameter now: the worker's clock, milliseconds
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// Begins to renew a lease.
    /// - Parameter asked: the worker's clock before it was claimed
    func hold(_ lease: Lease, askedAt asked: Int64, for duration: Duration) -> HeldLease {
        let held = HeldLease(lease, askedAt: asked, duration: duration, now: now)
        state.withLock { $0.leases[ObjectIdentifier(held)] = held }
        return held
    }
    func release(_ held: HeldLease) { state.withLock { $0.leases[ObjectIdentifier(held)] = nil } }

    /// Notes an entry that this worker begins to process.
    /// - Returns: false if the worker processes it already: it claimed its own entry, which waited long for its turn
    func take(_ entry: WorkEntry) -> Bool {
        state.withLock { state in
            guard state.entries[entry.place] == nil else { return false }
            state.entries[entry.place] = entry
            return true
        }
    }
    func release(_ entry: WorkEntry) { state.withLock { $0.entries[entry.place] = nil } }

    var entries: [WorkEntry] { state.withLock { Array($0.entries.values) } }

    /// Renews all leases at once. One after the other, hundreds of them on a slow Redis take longer than a lease lasts.
    /// - Parameter renew: asks Redis; false if another worker has the lease, nil if Redis did not answer
    func renewAll(_ renew: @escaping @Sendable (Lease) async -> Bool?) async {
        let leases = Array(state.withLock(\.leases.values))
        await withDiscardingTaskGroup { group in
            for held in leases { group.addTask { await held.renew { await renew(held.lease) } } }
        }
    }
}
