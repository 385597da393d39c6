import APNsClient
import LiveActivity
import Synchronization

/// Milliseconds on the clocks that the worker judges by.
enum Clocks {
    /// Epoch milliseconds.
    static func now() -> Int64 { wallClock() }

    /// Milliseconds since boot, suspension included: a lease is over on this clock even if the machine or the process slept.
    static func sinceBoot() -> Int64 { bootClock() }
}

/// A lease as its holder sees it: valid until a time on the boot clock, which each successful renewal moves. The time is
/// taken before the request to Redis leaves, so it is never later than Redis's own deadline.
final class HeldLease: SendPermission {
    private let validUntil: Mutex<Int64>
    let duration: Duration

    init(askedAt: Int64, duration: Duration) {
        validUntil = Mutex(askedAt + duration.milliseconds)
        self.duration = duration
    }

    /// What is still to leave a lane when the lease is over belongs to whoever takes it over.
    var holds: Bool { isLive }
    var isLive: Bool { Clocks.sinceBoot() < validUntil.withLock { $0 } }
    /// While it is live, and until a time on the boot clock.
    func permission(until time: Int64?) -> any SendPermission {
        time.map { BriefPermission(held: self, until: $0) } ?? self
    }
    func extend(askedAt: Int64) { validUntil.withLock { $0 = max($0, askedAt + duration.milliseconds) } }
    /// Redis said that another has it: nothing more may be begun.
    func lose() { validUntil.withLock { $0 = .min } }
}

/// For what is judged by what Redis said a while ago.
private struct BriefPermission: SendPermission {
    let held: HeldLease
    let until: Int64
    var holds: Bool { held.isLive && Clocks.sinceBoot() < until }
}
