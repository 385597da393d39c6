import Synchronization

/// The port that a server listens on. Others can wait for it.
final class BoundPort: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Int?, Never>])
        case settled(Int?)
    }

    private let state = Mutex(State.waiting([]))

    /// Waits for the port. Nil if the server ended without one.
    func port() async -> Int? {
        await withCheckedContinuation { continuation in
            let settled: Int?? = state.withLock { state in
                switch state {
                case .settled(let port): return .some(port)
                case .waiting(let others):
                    state = .waiting(others + [continuation])
                    return nil
                }
            }
            if let port = settled { continuation.resume(returning: port) }
        }
    }

    /// Sets the port. Only the first call has an effect.
    func settle(_ port: Int?) {
        let waiting: [CheckedContinuation<Int?, Never>] = state.withLock { state in
            guard case .waiting(let waiting) = state else { return [] }
            state = .settled(port)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: port) }
    }
}
