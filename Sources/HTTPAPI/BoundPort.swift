import Logging
public import ServiceLifecycle
import Synchronization

/// A service that listens.
public protocol ListeningService: Service {
    /// The port that is listened on; waits until there is one. Nil if it ended without binding.
    func boundPort() async -> Int?
}

extension Logger {
    /// For Hummingbird, which tells at `info` that it begins and ends: whoever runs the service says so.
    var quietAtInfo: Logger {
        var logger = self
        if logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}

/// The port that a server listens on, once it is known.
final class BoundPort: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Int?, Never>])
        case settled(Int?)
    }

    private let state = Mutex(State.waiting([]))

    /// Waits until there is one. Nil if the server ended without.
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

    /// The first call counts.
    func settle(_ port: Int?) {
        let waiting: [CheckedContinuation<Int?, Never>] = state.withLock { state in
            guard case .waiting(let waiting) = state else { return [] }
            state = .settled(port)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: port) }
    }
}
