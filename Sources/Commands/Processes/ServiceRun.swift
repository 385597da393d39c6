import Glibc
import HTTPAPI
import Logging
import NIOCore
import ServiceLifecycle
import Settings
import Synchronization

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

    /// One of the services that listens, and where.
    struct Listening {
        var service: any ListeningService
        var host: String
        var port: Int
        var scheme = "http"
        /// The line of the log that tells its address.
        var words: String
        /// The setting of the port, if the command has two ports.
        var setting: String?
    }

    /// The same for services some of which listen. It logs their addresses, or throws an error that names an address
    /// which cannot be bound.
    static func run(
        _ services: [any Service], listening: [Listening], within limit: Duration, logger: Logger
    ) async throws {
        let announcements = listening.map { listening in
            Task {
                guard let port = await listening.service.boundPort() else { return }
                let authority = Settings.authority(listening.host, port)
                logger.notice("\(listening.words)", metadata: ["url": "\(listening.scheme)://\(authority)"])
            }
        }
        do {
            try await run(services, within: limit, logger: logger)
        } catch {
            // Before a service listens, the cause is its address. After that the error is the service's own.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            for listening in listening where await listening.service.boundPort() == nil {
                let setting = listening.setting.map { "\($0): " } ?? ""
                throw CommandFailure.cannotListen(at: listening.host, listening.port, setting + why)
            }
            throw error
        }
        for announcement in announcements { await announcement.value }
    }
}

/// Handles SIGTERM and SIGINT. The first signal asks for an orderly end, and the second ends the process at once. The
/// second signal loses nothing either, because other workers claim what this process held.
struct SignalTrap: Sendable {
    let first: AsyncStream<Int32>

    init() {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        first = stream
        let isEnding = Atomic(false)
        for number in [SIGTERM, SIGINT] {
            Signals.listen(to: number) {
                if isEnding.exchange(true, ordering: .relaxed) { _exit(128 + number) }
                continuation.yield(number)
                continuation.finish()
            }
        }
    }
}
