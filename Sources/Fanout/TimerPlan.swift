import LiveActivity
import Store

/// What a worker does by the timers in Redis, and how long it may sleep: no clock and no I/O in it. All times are epoch
/// milliseconds of Redis's clock.
struct TimerPlan: Sendable {
    enum Chore: Hashable, Sendable {
        /// Retries, rests and pauses that are over go back to their streams.
        case tasks
        /// Schedules become pushes.
        case schedules
        /// Broadcast channels of an app are made and deleted. A chore for each app: APNs may be slow to answer one of them.
        case channels(AppKey)
        /// Cards that are old enough are ended.
        case ends

        /// From the end of one turn to the next, while something is due all the time: another worker may have it in hand.
        var rest: Int64 {
            switch self {
            case .tasks: 5
            case .schedules, .ends: 250
            case .channels: 500
            }
        }
    }

    /// Others may put in something earlier than what is known: a gateway a schedule for in half a second. It is found after
    /// this time at the latest, so that a schedule is a push within a second.
    static let longestSleep: Int64 = 750
    /// Workers that know of the same timer do not all come at once.
    static let stagger: Int64 = 16

    private var running: Set<Chore> = []
    private var notBefore: [Chore: Int64] = [:]

    /// What is to be begun now, and when to look again. `next` is nil when Redis did not say.
    mutating func look(_ next: NextDue?, now: Int64) -> (begin: [Chore], wake: Int64) {
        var begin: [Chore] = []
        var wake = now + Self.longestSleep
        for (chore, due) in next?.chores ?? [] where !running.contains(chore) {
            let at = max(due, notBefore[chore] ?? .min)
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
        notBefore[chore] = now + chore.rest
    }
}

extension NextDue {
    /// What waits, and until when.
    fileprivate var chores: [(TimerPlan.Chore, due: Int64)] {
        let single: [(TimerPlan.Chore, Int64?)] = [(.tasks, task), (.schedules, schedule), (.ends, end)]
        return single.compactMap { chore, due in due.map { (chore, $0) } } + channels.map { (.channels($0), $1) }
    }
}
