import LiveActivity
import Synchronization

/// Which apps rest, and until when. Each halting answer in a row doubles the rest; the first page that gets through ends it.
final class AppGates: Sendable {
    struct Gate: Sendable {
        var halt: Halt
        /// Boot-clock milliseconds.
        var until: Int64
        var inARow: Int
    }

    private let gates = Mutex<[AppKey: Gate]>([:])

    /// How long an app rests after the n-th halting answer in a row. Wrong credentials are asked about more rarely: APNs
    /// counts renewals, and an operator has to act.
    static func rest(_ halt: Halt, inARow: Int) -> Duration {
        let base: Duration = halt.cause == .credentials ? .seconds(15) : .seconds(1)
        let cap: Duration = halt.cause == .credentials ? .seconds(300) : .seconds(30)
        return min(cap, base * (1 << min(inARow, 10)))
    }

    /// The rest that a halting answer now would bring.
    func nextRest(_ app: AppKey, _ halt: Halt) -> Duration {
        Self.rest(halt, inARow: gates.withLock { $0[app]?.inARow ?? 0 })
    }

    /// Nil when the app may send; otherwise the time left.
    func rest(of app: AppKey, now: Int64) -> Duration? {
        gates.withLock { gates in
            guard let gate = gates[app], gate.until > now else { return nil }
            return .milliseconds(gate.until - now)
        }
    }

    /// True if the app was not at rest already: the moment to raise the alarm, or to repeat it.
    func close(_ app: AppKey, _ halt: Halt, now: Int64) -> Bool {
        gates.withLock { gates in
            let before = gates[app]
            if let before, before.until > now { return false }
            let inARow = before?.inARow ?? 0
            gates[app] = Gate(halt: halt, until: now + Self.rest(halt, inARow: inARow).milliseconds, inARow: inARow + 1)
            return true
        }
    }

    /// What the app rested for, if it did: the moment to clear the alarm.
    func open(_ app: AppKey) -> Halt? {
        gates.withLock { $0.removeValue(forKey: app)?.halt }
    }
}
