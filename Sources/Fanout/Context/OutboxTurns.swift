import LiveActivity
import Store
import Synchronization

/// Lets one task of this worker at a time empty the outbox of a name, so that tasks that end pushes of a name at once
/// do not tell the same ends. Two workers may still do so at the same moment.
final class OutboxTurns: Sendable {
    private struct Key: Hashable {
        var app: AppKey
        var name: ActivityName
    }
    /// The last task that waits for its turn, by name.
    private let last = Mutex<[Key: Task<StoreError?, Never>]>([:])

    /// Empties the outbox after the tasks that asked before.
    func empty(_ app: AppKey, _ name: ActivityName, of events: Events) async throws(StoreError) {
        guard events.isOn(app) else { return }
        let key = Key(app: app, name: name)
        let task = last.withLock { last in
            let before = last[key]
            let task = Task { () -> StoreError? in
                _ = await before?.value
                do throws(StoreError) { try await events.empty(app, name) } catch { return error }
                return nil
            }
            last[key] = task
            return task
        }
        let error = await task.value
        last.withLock { if $0[key] == task { $0[key] = nil } }
        if let error { throw error }
    }
}
