import Synchronization

/// The tokens a second that get their outcome, from the ledgers of two looks.
final class RateMeter: Sendable {
    private struct State {
        var settled: [String: Int] = [:]
        var at: Int64 = 0
        var rate = 0
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - settled: targets with an outcome, by push
    ///   - now: epoch ms
    func rate(_ settled: [String: Int], now: Int64) -> Int {
        state.withLock { state in
            let passed = now - state.at
            guard state.at > 0, passed > 0, passed < 30_000 else {
                (state.settled, state.at, state.rate) = (settled, now, 0)
                return 0
            }
            guard passed >= 500 else { return state.rate }
            // A push that was not there at the last look began since.
            let new = settled.reduce(0) { $0 + max(0, $1.value - (state.settled[$1.key] ?? $1.value)) }
            (state.settled, state.at, state.rate) = (settled, now, Int(Int64(new) * 1_000 / passed))
            return state.rate
        }
    }
}
