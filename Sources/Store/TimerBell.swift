import Synchronization

/// Wakes those of this process who sleep until the next timer in Redis, when it puts in one that is due earlier. What other
/// processes put in, they have to look for.
public final class TimerBell: Sendable {
    private struct Sleeper {
        /// When it wakes, epoch milliseconds; while it is awake, the earliest it was rung for.
        var until = Int64.max
        var nap: Task<Void, Never>?

        mutating func wake(_ due: Int64) {
            guard due < until else { return }
            until = due
            nap?.cancel()
        }
    }

    private let sleepers = Mutex<[Int: Sleeper]>([:])

    /// For everyone, after the timer is set: who looks upon this finds it.
    func ring(_ due: Int64) {
        sleepers.withLock { sleepers in
            for place in sleepers.keys { sleepers[place]?.wake(due) }
        }
    }

    /// For one: something of its own is over.
    public func ring(_ place: Int, _ due: Int64) { sleepers.withLock { $0[place]?.wake(due) } }

    /// A place of one who sleeps now and then, until `give`.
    public func take() -> Int {
        sleepers.withLock { sleepers in
            let number = (sleepers.keys.max() ?? 0) + 1
            sleepers[number] = Sleeper()
            return number
        }
    }

    public func give(_ place: Int) { sleepers.withLock { _ = $0.removeValue(forKey: place) } }

    /// Before it looks at the timers: what is put in from here on shortens the next sleep.
    public func listen(_ place: Int) { sleepers.withLock { $0[place] = Sleeper() } }

    /// Returns at `time` by `clock`, earlier when it is rung for something earlier or cancelled.
    public func sleep(_ place: Int, until time: Int64, by clock: () -> Int64) async {
        let now = clock()
        let nap: Task<Void, Never>? = sleepers.withLock { sleepers in
            let end = min(time, sleepers[place]?.until ?? .max)
            guard end > now else { return nil }
            let nap = Task { _ = try? await Task.sleep(for: .milliseconds(end - now)) }
            sleepers[place] = Sleeper(until: end, nap: nap)
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
