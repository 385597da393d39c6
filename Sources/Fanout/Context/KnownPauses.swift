import LiveActivity
import Store
import Synchronization

/// Which apps and names are paused, as this worker last read it.
final class KnownPauses: Sendable {
    /// Milliseconds from one reading of the pauses to the next, at least. They are read with the timers
    /// (`TimerPlan.longestSleep`), so a worker knows a pause within a second.
    static let rest: Int64 = 200
    /// How long the work of a paused name waits before a worker looks again.
    static let look: Duration = .seconds(5)

    private struct Key: Hashable {
        var app: AppKey
        var name: ActivityName?
    }
    private let paused = Mutex<Set<Key>>([])

    func update(_ pauses: [Pause]) {
        let keys = Set(pauses.map { Key(app: $0.app, name: $0.name) })
        paused.withLock { $0 = keys }
    }

    func isPaused(_ app: AppKey, _ name: ActivityName) -> Bool {
        paused.withLock { paused in
            !paused.isEmpty && (paused.contains(Key(app: app)) || paused.contains(Key(app: app, name: name)))
        }
    }

    /// Apps that are paused as a whole.
    var apps: Set<AppKey> { paused.withLock { paused in Set(paused.filter { $0.name == nil }.map(\.app)) } }
}
