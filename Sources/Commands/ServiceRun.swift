import Glibc
import HTTPAPI
import Logging
import NIOCore
import ServiceLifecycle
import Settings

/// Runs the services of a process until a signal or the end of one of them.
enum ServiceRun {
    /// Returns after an orderly end. Past `limit` after the first signal the process ends by itself with code 0 all the
    /// same: what is unfinished is in Redis and others claim it, so a supervisor has no reason to call it a failure.
    static func run(_ services: [any Service], within limit: Duration, logger: Logger) async throws {
        let trap = SignalTrap()
        defer { withExtendedLifetime(trap) {} }
        let signals = trap.first
        // The group logs its own steps; ours say the same with more sense to an operator.
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
                    logger.warning("not done after \(limit.components.seconds) s: ended; the rest is claimed by others")
                    _exit(ExitStatus.done.rawValue)
                }
                // The stream ends only with a signal or with this task.
                try await Task.sleep(for: .seconds(Int64.max / 4))
            }
            try await tasks.next()
            tasks.cancelAll()
        }
    }

    /// The same where one of them listens: says where, and names the address if it cannot.
    static func run(
        _ services: [any Service], listener: any ListeningService, at host: String, _ port: Int, saying words: String,
        within limit: Duration, logger: Logger
    ) async throws {
        let announcement = Task {
            guard let port = await listener.boundPort() else { return }
            logger.notice("\(words)", metadata: ["url": "http://\(Settings.authority(host, port))"])
        }
        do {
            try await run(services, within: limit, logger: logger)
        } catch {
            // Once it listens, what ends it is its own affair; before, it is the address.
            guard await listener.boundPort() == nil else { throw error }
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw CommandFailure.cannotListen(at: host, port, why)
        }
        await announcement.value
    }
}

extension CommandFailure {
    static func cannotListen(at host: String, _ port: Int, _ why: String) -> CommandFailure {
        CommandFailure(
            .failed,
            "cannot listen on \(Settings.authority(host, port)): \(why); choose another port, or an address of this machine"
        )
    }
}
