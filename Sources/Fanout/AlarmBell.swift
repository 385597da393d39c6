import LiveActivity
import Store
import Synchronization

/// When this worker last raised each alarm: pages that say the same add nothing.
final class AlarmBell: Sendable {
    /// Milliseconds; far below an alarm's life.
    private static let pause: Int64 = 30_000
    private struct Key: Hashable { var app: AppKey; var kind: Alarm.Kind }
    private let rung = Mutex<[Key: Int64]>([:])

    /// - Parameter now: boot-clock milliseconds
    func mayRing(_ app: AppKey, _ kind: Alarm.Kind, now: Int64) -> Bool {
        rung.withLock { rung in
            let key = Key(app: app, kind: kind)
            if let last = rung[key], now < last + Self.pause { return false }
            rung[key] = now
            return true
        }
    }
}
