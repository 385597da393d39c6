import LiveActivity
import Store

/// Decides which chores are due by the timers in Redis, and how long a worker may sleep, without clock or I/O. All
/// times are epoch milliseconds of Redis's clock.
struct TimerPlan: Sendable {
    enum Chore: Hashable, Sendable {
        /// Moves due tasks back to their streams: retries, paced updates, and work of an app whose circuit was open.
        case tasks
        /// Turns schedules into pushes.
        case schedules
        /// Makes and deletes broadcast channels. Each app has a chore of its own, because APNs may be slow for one.
        case broadcastChannels(AppKey)
        /// Ends cards that are old enough.
        case ends

        /// Milliseconds from the end of one turn to the next while work stays due. Another worker may be doing it.
        var pause: Int64 {
            switch self {
            case .tasks: 5
            case .schedules, .ends: 250
            case .broadcastChannels: 500
            }
        }
    }

    /// Milliseconds. Another process may add a timer that is due before the known ones. The worker finds it after this
    /// time at the latest, so even a schedule for half a second from now becomes a push within a second.
    static let longestSleep: Int64 = 750
    /// Milliseconds of random delay, so that workers that know the same timer do not all ask at once.
    static let stagger: Int64 = 16

    private var running: Set<Chore> = []
    private var notBefore: [Chore: Int64] = [:]

    /// Says which chores begin now, and when to look again.
    /// - Parameter next: nil when Redis did not answer
    mutating func look(_ next: NextDue?, now: Int64) -> (begin: [Chore], wake: Int64) {
        var begin: [Chore] = []
        var wake = now + Self.longestSleep
        for (chore, due) in next?.chores ?? [] where !running.contains(chore) {
            // A pause that seems longer than it was is over: Redis's clock was set back since it began.
            let pausedUntil = notBefore[chore].flatMap { $0 > now + chore.pause ? nil : $0 } ?? .min
            let at = max(due, pausedUntil)
            if at <= now {
                running.insert(chore)
                begin.append(chore)
            } else {
                wake = min(wake, at)
            }
        }
        return (begin, wake)
    }

    mutating func ended(_ chore: Chore, now: Int64) {
        running.remove(chore)
        notBefore[chore] = now + chore.pause
    }
}

extension NextDue {
    /// Each kind of chore that waits, and when it is due.
    fileprivate var chores: [(TimerPlan.Chore, due: Int64)] {
        let single: [(TimerPlan.Chore, Int64?)] = [(.tasks, task), (.schedules, schedule), (.ends, end)]
        return single.compactMap { chore, due in due.map { (chore, $0) } }
            + broadcastChannels.map { (.broadcastChannels($0), $1) }
    }
}
