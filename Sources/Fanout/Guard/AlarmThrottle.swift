import LiveActivity
import Store
import Synchronization

/// When this worker last raised each alarm. It does not raise the same alarm again within `pause`.
final class AlarmThrottle: Sendable {
    /// Milliseconds. It is far shorter than the time for which Redis keeps an alarm.
    private static let pause: Int64 = 30_000
    private struct Key: Hashable { var key: AppPlatform; var kind: Alarm.Kind }
    private let raised = Mutex<[Key: Int64]>([:])

    /// Says whether the alarm may be raised now, and notes that it was.
    /// - Parameter now: boot-clock milliseconds
    func mayRaise(_ key: AppPlatform, _ kind: Alarm.Kind, now: Int64) -> Bool {
        raised.withLock { raised in
            let key = Key(key: key, kind: kind)
            if let last = raised[key], now < last + Self.pause { return false }
            raised[key] = now
            return true
        }
    }
}
