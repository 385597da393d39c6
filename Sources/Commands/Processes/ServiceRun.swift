import Glibc
import HTTPAPI
import Logging
import NIOCore
import ServiceLifecycle
import Settings

/// Runs the services of a process until a signal arrives or one of them ends.
enum ServiceRun {
    /// Runs services, and returns after an orderly end. If they still run `limit` after the first signal, the process
    /// exits with code 0: other processes claim the unfinished work, so a supervisor need not treat this as a failure.
    static func run(_ services: [any Service], within limit: Duration, logger: Logger) async throws {
        let signals = SignalTrap().first
        // The service group logs its own steps. Our lines say the same in words for an operator.
        var groupLogger = logger
        groupLogger.logLevel = max(logger.logLevel, .error)
        let configurations = services.map {
            ServiceGroupConfiguration.ServiceConfiguration(
                service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        let group = ServiceGroup(configuration: .init(services: configurations, logger: groupLogger))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                for await number in signals {
                    logger.notice("\(number == SIGINT ? "SIGINT" : "SIGTERM"): stopping; a second signal ends at once")
                    await group.triggerGracefulShutdown()
                    try await Task.sleep(for: limit)
                    logger.warning("not done after \(limit.components.seconds) s: stopped; other processes do the rest")
                    _exit(ExitStatus.done.rawValue)
                }
                // Wait here: `signals` ends only after a signal or when this task is cancelled.
                try await Task.sleep(for: .seconds(Int64.max / 4))
            }
            try await tasks.next()
            tasks.cancelAll()
        }
    }

    /// The same for services of which one listens. Logs its address, or names it in the error if it cannot be bound.
    static func run(
        _ services: [any Service], and monitor: (listener: Monitor, host: String, port: Int)? = nil,
        listener: any ListeningService, at host: String, _ port: Int,
        scheme: String = "http", saying words: String, within limit: Duration, logger: Logger
    ) async throws {
        let announcement = Task {
            guard let port = await listener.boundPort() else { return }
            logger.notice("\(words)", metadata: ["url": "\(scheme)://\(Settings.authority(host, port))"])
        }
        let second = Task {
            guard let monitor, let port = await monitor.listener.boundPort() else { return }
            logger.notice("health and metrics", metadata: ["url": "http://\(Settings.authority(monitor.host, port))"])
        }
        do {
            try await run(services, within: limit, logger: logger)
        } catch {
            // Before the service listens, the cause is the address. After that the error is the service's own.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            if let monitor, await monitor.listener.boundPort() == nil {
                throw CommandFailure.cannotListen(at: monitor.host, monitor.port, "monitor.port: \(why)")
            }
            guard await listener.boundPort() == nil else { throw error }
            throw CommandFailure.cannotListen(at: host, port, why)
        }
        await announcement.value
        await second.value
    }
}
