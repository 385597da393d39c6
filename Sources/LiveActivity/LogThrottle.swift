import Synchronization

/// Limits the log lines of one kind and counts those it leaves out, so that strangers cannot fill a disk.
package final class LogThrottle: Sendable {
    private struct State {
        var allowed: Double
        var updated: ContinuousClock.Instant
        var leftOut = 0
    }

    private let burst: Double
    private let perSecond: Double
    private let state: Mutex<State>

    package init(burst: Int, perSecond: Double, now: ContinuousClock.Instant = .now) {
        self.burst = Double(burst)
        self.perSecond = perSecond
        state = Mutex(State(allowed: Double(burst), updated: now))
    }

    /// The number of lines left out since the last one that was written. Nil if this line is to be left out too.
    package func take(now: ContinuousClock.Instant = .now) -> Int? {
        state.withLock { state in
            let elapsed = state.updated.duration(to: now)
            state.allowed = min(burst, state.allowed + max(0, elapsed / .seconds(1)) * perSecond)
            state.updated = now
            guard state.allowed >= 1 else {
                state.leftOut += 1
                return nil
            }
            state.allowed -= 1
            defer { state.leftOut = 0 }
            return state.leftOut
        }
    }
}
