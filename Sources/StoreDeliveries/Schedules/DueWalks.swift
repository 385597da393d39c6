import LiveActivity
import Synchronization

/// How far this process has looked through the due schedules of each app, when so many wait that one call does not come
/// to their end.
final class DueWalks: Sendable {
    struct Walk {
        /// The last schedule that waits. Nil: the walk is at the beginning.
        var last: String?
        /// Names of which a schedule waits. Later schedules of these are left out, because they must not pass it.
        var names: Set<[UInt8]> = []

        func waits(_ name: [UInt8]?) -> Bool { name.map(names.contains) ?? false }
    }
    private let walks = Mutex<[AppKey: Walk]>([:])

    func take(_ app: AppKey) -> Walk { walks.withLock { $0.removeValue(forKey: app) } ?? Walk() }
    func put(_ app: AppKey, _ walk: Walk) { walks.withLock { $0[app] = walk } }
}
