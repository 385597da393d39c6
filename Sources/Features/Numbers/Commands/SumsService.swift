import LiveActivity
import Logging
import ServiceLifecycle
import Settings
import Store

/// Adds up the pushes of the worker's apps. Each worker does so: a lease lets one of them at a time work for an app.
struct SumsService: Service {
    private static let interval: Duration = .seconds(15)

    let store: Store
    let apps: [AppKey]
    let process: String
    let logger: Logger

    func run() async {
        var hasFailed = false
        while !Task.isShuttingDownGracefully {
            do {
                // Before the first measurement the time is the machine's, which may be ahead.
                try await store.time.measure()
                for app in apps where !Task.isShuttingDownGracefully {
                    try await store.sums.work(app, owner: process) { Task.isShuttingDownGracefully }
                }
                hasFailed = false
            } catch {
                // The readers of the queue log an outage too. The next round goes on.
                if !hasFailed { logger.warning("pushes are not added up: \(error)") }
                hasFailed = true
            }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }
}

extension ProcessFeature {
    static let numbers = ProcessFeature(besideWorker: { boot in
        [
            SumsService(
                store: boot.store, apps: boot.settings.apps.map(\.key), process: boot.name, logger: boot.logger)
        ]
    })
}
