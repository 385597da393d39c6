import APNsClient
import LiveActivity
import Synchronization

/// The clocks that the worker uses for decisions, in milliseconds.
enum Clocks {
    /// Epoch milliseconds.
    static func now() -> Int64 { wallClock() }

    /// Milliseconds since boot, suspension included. On this clock a lease expires even if the machine or the process
    /// slept.
    static func sinceBoot() -> Int64 { bootClock() }
}

/// A lease as its holder sees it. It is valid until a time on the boot clock, and each successful renewal moves that
/// time. The clock is read before the request to Redis leaves, so the time is never later than Redis's own deadline.
final class HeldLease: SendPermission {
    private let validUntil: Mutex<Int64>
    let duration: Duration

    init(askedAt: Int64, duration: Duration) {
        validUntil = Mutex(askedAt + duration.milliseconds)
        self.duration = duration
    }

    /// After the lease expires, requests that have not left a lane belong to the next owner.
    var holds: Bool { isLive }
    var isLive: Bool { Clocks.sinceBoot() < validUntil.withLock { $0 } }
    /// A permission to send while the lease is live, and only until a time on the boot clock if there is one.
    func permission(until time: Int64?) -> any SendPermission {
        time.map { BriefPermission(held: self, until: $0) } ?? self
    }
    func extend(askedAt: Int64) { validUntil.withLock { $0 = max($0, askedAt + duration.milliseconds) } }
    /// Marks the lease as lost, because Redis said that another worker has it. Nothing more may begin under it.
    func lose() { validUntil.withLock { $0 = .min } }
}

/// A permission that ends before its lease, because it rests on data that was read a while ago.
private struct BriefPermission: SendPermission {
    let held: HeldLease
    let until: Int64
    var holds: Bool { held.isLive && Clocks.sinceBoot() < until }
}
