public import LiveActivity
import Redis

/// All that a worker looks at again and again: when its timers are due, and what is paused. While nothing is stored
/// there, a look at one server is one command, however many apps the worker has.
public struct WorkerAgenda: Sendable {
    public var next: NextDue
    /// Nil if they were not asked for, or cannot be read.
    public var pauses: [Pause]?
}

extension Store {
    /// - Parameters:
    ///   - ending: apps with automatic ends.
    ///   - paused: apps whose tasks stay in the timer.
    public func look(
        _ apps: [AppKey], ending: [AppKey], paused: Set<AppKey>, readsPauses: Bool
    ) async throws(StoreError) -> WorkerAgenda {
        let timers = TimerKeys(keys, apps, ending: ending, paused: paused)
        let paused = Dictionary(uniqueKeysWithValues: readsPauses ? apps.map { (keys.pauses($0), $0) } : [])
        let (found, away) = try await queue.sparse.read(timers.all + paused.keys, redis) { key in
            paused[key] == nil ? TimerKeys.first(key) : Pauses.all(key)
        }
        var look = WorkerAgenda(next: try timers.nextDue(found))
        guard readsPauses, away.isDisjoint(with: paused.keys) else { return look }
        var pauses: [Pause] = []
        for (key, app) in paused { if let reply = found[key] { pauses += try Pauses.read(reply, of: app) } }
        look.pauses = pauses
        return look
    }
}
