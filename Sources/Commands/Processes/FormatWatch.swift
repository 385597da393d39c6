import LiveActivity
import Logging
import ServiceLifecycle
import Store

/// Ends a running process once a newer version has changed the format of what is stored. This version would misread it.
struct FormatWatch: Service {
    static let interval: Duration = .seconds(10)

    let store: Store
    let apps: [AppKey]
    /// Names this process in the alarm.
    let process: String
    let logger: Logger
    var interval = Self.interval

    /// - Throws: `otherFormat`, so that the process stops in order and exits with 78.
    func run() async throws {
        while !Task.isShuttingDownGracefully {
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: interval) }
            do throws(StoreError) {
                try await store.checkFormat()
            } catch {
                // While Redis is away nothing is read either.
                guard case .otherFormat = error else { continue }
                let reason = CommandFailure(error)?.message ?? "\(error)"
                logger.critical("stopping: \(reason)")
                for app in apps { try? await store.alarms.raise(app, .newerFormat, "\(process) stopped: \(reason)") }
                throw error
            }
        }
    }
}
