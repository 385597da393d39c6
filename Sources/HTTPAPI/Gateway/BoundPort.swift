import Logging
public import ServiceLifecycle
import Synchronization

/// A service that listens.
public protocol ListeningService: Service {
    /// Waits until the service listens, and returns its port. Nil if the service ended without binding.
    func boundPort() async -> Int?
}

extension Logger {
    /// A logger for Hummingbird, without its `info` lines about start and end.
    /// The caller of the service logs those itself.
    var quietAtInfo: Logger {
        var logger = self
        if logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}

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
