import APNsClient
import LiveActivity
import Logging
import Store
import Synchronization
import Threads

/// A lease as its holder sees it. It is valid until a time on the worker's clock. Each successful renewal moves that
/// time. The clock is read before the request to Redis leaves, so the time is never later than Redis's own deadline.
final class HeldLease: SendPermission {
    private static let lost = Int64.min

    let lease: Lease
    /// On the worker's clock, milliseconds; `lost` for ever once another worker has the lease.
    private let validUntil: Mutex<Int64>
    private let duration: Duration
    fileprivate let now: @Sendable () -> Int64

    init(_ lease: Lease, askedAt: Int64, duration: Duration, now: @escaping @Sendable () -> Int64) {
        (self.now, self.lease, self.duration) = (now, lease, duration)
        validUntil = Mutex(askedAt + duration.milliseconds)
    }

    /// After the lease expires, requests that have not left a lane belong to the next owner.
    var holds: Bool { isLive }
    var isLive: Bool { now() < validUntil.withLock { $0 } }
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
        validUntil.withLock { if $0 != Self.lost { $0 = max($0, askedAt + duration.milliseconds) } }
    }
    /// Another worker has the lease, as Redis said. Nothing more may begin under it, and no older answer revives it.
    func lose() { validUntil.withLock { $0 = Self.lost } }
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
        let backoff = Backoff(first: .milliseconds(100), cap: .seconds(1))
        var failures = 0
        while isLive {
            let asked = now()
            do throws(StoreError) {
                let value = try await body()
                // The scripts that settle also prolong the lease, unless another worker has it.
                if let answer = value as? any LeaseAnswer {
                    if answer.keepsLease { extend(askedAt: asked) } else { lose() }
                }
                return value
            } catch {
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
}
