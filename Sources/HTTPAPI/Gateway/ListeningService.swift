import Logging
public import ServiceLifecycle

public protocol ListeningService: Service {
    /// Waits until the service listens, and returns its port. Nil if the service ended without binding.
    func boundPort() async -> Int?
}

extension Logger {
    /// Without Hummingbird's `info` lines about start and end, which the caller of the service logs itself.
    var quietAtInfo: Logger {
        var logger = self
        if logLevel == .info { logger.logLevel = .notice }
        return logger
    }
}
