import Synchronization

/// Wakes tasks of this process that sleep until the next timer in Redis, when this process sets an earlier one. A timer
/// that another process sets wakes nobody here, so a sleeper must also look at the timers.
public final class TimerWakeup: Sendable {
    private struct Sleeper {
        /// When the sleeper wakes, epoch milliseconds. While it is awake: the earliest time that was set since.
        var until = Int64.max
        var nap: Task<Void, Never>?

        mutating func wake(_ due: Int64) {
            guard due < until else { return }
            until = due
            nap?.cancel()
        }
    }

    private let sleepers = Mutex<[Int: Sleeper]>([:])

    /// Tells all sleepers that a timer is due at `due`. Call it after the timer is set, so that they find it.
    public func ring(_ due: Int64) {
        sleepers.withLock { sleepers in for sleeper in sleepers.keys { sleepers[sleeper]?.wake(due) } }
    }

    /// Tells one sleeper, because a chore of its own has finished.
    public func ring(_ sleeper: Int, _ due: Int64) { sleepers.withLock { $0[sleeper]?.wake(due) } }

    public func add() -> Int {
        sleepers.withLock { sleepers in
            let number = (sleepers.keys.max() ?? 0) + 1
            sleepers[number] = Sleeper()
            return number
        }
    }

    public func remove(_ sleeper: Int) { sleepers.withLock { _ = $0.removeValue(forKey: sleeper) } }
    /// Call this before looking at the timers. A timer that is set from here on shortens the next sleep.
    public func listen(_ sleeper: Int) { sleepers.withLock { $0[sleeper] = Sleeper() } }

    /// Returns at `time` by `clock`, or earlier if an earlier timer is set or the task is cancelled.
    public func sleep(_ sleeper: Int, until time: Int64, by clock: () -> Int64) async {
        let now = clock()
        let nap: Task<Void, Never>? = sleepers.withLock { sleepers in
            let end = min(time, sleepers[sleeper]?.until ?? .max)
            guard end > now else { return nil }
            let nap = Task { _ = try? await Task.sleep(for: .milliseconds(end - now)) }
            sleepers[sleeper] = Sleeper(until: end, nap: nap)
            return nap
        }
        guard let nap else { return }
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
    }
}
