import LiveActivity
import Synchronization

/// The permits of a pool: a semaphore that apps share, so that no app can take every permit. At least half of an equal
/// share is kept for each app. An app may take more while the others use less. A caller that finds no permit waits in
/// order behind other callers of its app.
final class FairSemaphore: Sendable {
    private struct Waiting {
        /// The app for which a permit is wanted. Nil: waits until there is a permit for any app, and takes none.
        var app: AppKey?
        var continuation: CheckedContinuation<Void, Never>
    }
    private struct State {
        var free: Int
        var held: [AppKey: Int]
        /// How many permits are kept for each app.
        let share: Int
        var waiting: [Waiting] = []

        /// How many permits `app` may take now. It must leave the unused permits that are kept for other apps.
        func free(for app: AppKey) -> Int {
            let kept = held.reduce(0) { $0 + ($1.key == app ? 0 : max(0, share - $1.value)) }
            return max(0, free - kept)
        }

        mutating func take(_ app: AppKey) -> Bool {
            guard free(for: app) > 0 else { return false }
            free -= 1
            held[app, default: 0] += 1
            return true
        }

        /// Takes permits for the waiting callers that may go on now, in their order.
        mutating func served() -> [CheckedContinuation<Void, Never>] {
            var served: [CheckedContinuation<Void, Never>] = []
            var rest: [Waiting] = []
            for waiter in waiting {
                let goesOn = waiter.app.map { take($0) } ?? held.keys.contains { free(for: $0) > 0 }
                if goesOn { served.append(waiter.continuation) } else { rest.append(waiter) }
            }
            waiting = rest
            return served
        }
    }
    private let state: Mutex<State>

    /// Makes `count` permits, but at least one for each app.
    init(_ count: Int, _ apps: [AppKey]) {
        let count = max(count, apps.count, 1)
        state = Mutex(
            State(
                free: count, held: Dictionary(uniqueKeysWithValues: apps.map { ($0, 0) }),
                share: apps.count > 1 ? max(1, count / (2 * apps.count)) : 0))
    }

    func free(for app: AppKey) -> Int { state.withLock { $0.free(for: app) } }
    func takeIfFree(_ app: AppKey) -> Bool { state.withLock { $0.take(app) } }
    func take(_ app: AppKey) async { await wait(app) { $0.take(app) } }
    /// Returns when there is a permit for some app, without taking it.
    func untilFree() async { await wait(nil) { state in state.held.keys.contains { state.free(for: $0) > 0 } } }

    func give(_ app: AppKey) {
        let served = state.withLock { state in
            state.free += 1
            state.held[app, default: 1] -= 1
            return state.served()
        }
        for continuation in served { continuation.resume() }
    }

    private func wait(_ app: AppKey?, unless isServed: @Sendable (inout State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if isServed(&state) { return true }
                state.waiting.append(Waiting(app: app, continuation: continuation))
                return false
            }
            if goesOn { continuation.resume() }
        }
    }
}
