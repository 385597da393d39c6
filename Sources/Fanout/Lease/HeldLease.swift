import Delivery
import LiveActivity
import Logging
import Store
import Synchronization
import Threads

/// A lease as its holder sees it. It is valid until a time on the worker's clock. Each successful renewal moves that
/// time. The clock is read before the request to Redis leaves, so the time is never later than Redis's own deadline.
final class HeldLease: SendPermission {
    private static let lost = Int64.min

    private struct State {
        /// On the worker's clock, milliseconds; `lost` for ever once another worker has the lease.
        var validUntil: Int64
        /// The last page is settled.
        var isFinished = false
    }

    let lease: Lease
    private let state: Mutex<State>
    private let duration: Duration
    fileprivate let now: @Sendable () -> Int64

    init(_ lease: Lease, askedAt: Int64, duration: Duration, now: @escaping @Sendable () -> Int64) {
        (self.now, self.lease, self.duration) = (now, lease, duration)
        state = Mutex(State(validUntil: askedAt + duration.milliseconds))
    }

    /// After the lease expires, requests that have not left a lane belong to the next owner.
    var holds: Bool { isLive }
    var isLive: Bool { now() < state.withLock(\.validUntil) }
    /// A permission to send while the lease is live, and only until a time on that clock if there is one.
    func permission(until time: Int64?) -> any SendPermission {
        time.map { BriefPermission(held: self, until: $0) } ?? self
    }
    /// Moves or ends the lease as Redis answers: false if another worker has it, nil if there was no answer.
    func renew(_ ask: () async -> Bool?) async {
        let asked = now()
        switch await ask() {
        case true?: extend(askedAt: asked)
        case false?: lose()
        case nil: break
        }
    }
    private func extend(askedAt: Int64) {
        state.withLock {
            if $0.validUntil != Self.lost { $0.validUntil = max($0.validUntil, askedAt + duration.milliseconds) }
        }
    }
    /// Another worker has the lease, as Redis said. Nothing more may begin under it, and no older answer revives it.
    func lose() { state.withLock { if !$0.isFinished { $0.validUntil = Self.lost } } }
    /// Redis has settled the last page under the lease, so no other worker gets it. The work that is left has its usual
    /// time. A renewal that Redis answers afterwards finds no lease, and its answer may even be read before the
    /// settlement's.
    private func finish(askedAt: Int64) {
        state.withLock { $0 = State(validUntil: askedAt + duration.milliseconds, isFinished: true) }
    }
}

/// A permission that ends before its lease, because the data that allowed the page may be out of date by then.
private struct BriefPermission: SendPermission {
    let held: HeldLease
    let until: Int64
    var holds: Bool { held.isLive && held.now() < until }
}

extension HeldLease {
    /// Repeats a call that Redis could not answer, while the lease is live. The call must be safe to repeat.
    /// - Returns: nil when the lease has expired, or at once for a lasting error, which would hold a permit for ever.
    func repeatWhileLive<T: Sendable>(_ log: Logger, _ body: () async throws(StoreError) -> T) async -> T? {
        await repeated(log, while: { isLive }) { () async throws(StoreError) in
            let asked = now()
            let value = try await body()
            // The scripts that settle also prolong the lease, unless another worker has it.
            if let answer = value as? any LeaseAnswer {
                if answer.endsLease { finish(askedAt: asked) }
                if answer.keepsLease { extend(askedAt: asked) } else { lose() }
            }
            return value
        }
    }
}

/// Repeats a call that Redis could not answer, while a condition holds. The call must be safe to repeat.
/// - Returns: nil when the condition has ended, or at once for a lasting error
func repeated<T: Sendable>(
    _ log: Logger, while holds: () -> Bool, _ body: () async throws(StoreError) -> T
) async -> T? {
    let backoff = Backoff(first: .milliseconds(100), cap: .seconds(1))
    var failures = 0
    while holds() {
        do throws(StoreError) { return try await body() } catch {
            guard error.isPassing else {
                log.error("work is postponed: \(error)")
                return nil
            }
            log.debug("Redis did not answer, trying again: \(error)")
            failures += 1
            try? await Task.sleep(for: backoff.pause(after: failures))
        }
    }
    return nil
}
