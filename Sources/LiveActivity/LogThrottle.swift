import Synchronization

/// Something that may be used so often at once, and again as time passes.
package struct Allowance: Sendable {
    package private(set) var left: Double
    private var updated: ContinuousClock.Instant

    package init(_ most: Double, now: ContinuousClock.Instant) { (left, updated) = (most, now) }

    package mutating func refill(_ most: Double, perSecond: Double, now: ContinuousClock.Instant) {
        left = min(most, left + max(0, updated.duration(to: now) / .seconds(1)) * perSecond)
        updated = now
    }

    package mutating func use() { left = max(0, left - 1) }
}

/// Limits the log lines of one kind and counts the lines that it leaves out, so that strangers cannot fill a disk.
package final class LogThrottle: Sendable {
    private struct State {
        var lines: Allowance
        var leftOut = 0
    }

    private let burst: Double
    private let perSecond: Double
    private let state: Mutex<State>

    package init(burst: Int, perSecond: Double, now: ContinuousClock.Instant = .now) {
        self.burst = Double(burst)
        self.perSecond = perSecond
        state = Mutex(State(lines: Allowance(Double(burst), now: now)))
    }

    /// The number of lines left out since the last one that was written. Nil if this line is to be left out too.
    package func take(now: ContinuousClock.Instant = .now) -> Int? {
        state.withLock { state in
            state.lines.refill(burst, perSecond: perSecond, now: now)
            guard state.lines.left >= 1 else {
                state.leftOut += 1
                return nil
            }
            state.lines.use()
            defer { state.leftOut = 0 }
            return state.leftOut
        }
    }
}
