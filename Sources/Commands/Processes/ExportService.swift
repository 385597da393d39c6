import HistoryExport
import LiveActivity
import Logging
import ServiceLifecycle
import Store

/// Exports finished pushes to a directory (`pushes.export`). The directory's lock lets one process at a time do so.
struct ExportService: Service {
    private static let interval: Duration = .seconds(300)

    let store: Store
    let apps: [AppKey]
    let directory: String
    let withContent: Bool
    let logger: Logger

    func run() async {
        while !Task.isShuttingDownGracefully {
            await export()
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }

    private func export() async {
        do {
            // Before the first measurement the time is the machine's, which may be ahead.
            try await store.time.measure()
            let directory = try ExportDirectory(directory, apps: apps)
            defer { directory.unlock() }
            let exporter = Exporter(store, withContent: withContent)
            for app in apps where !Task.isShuttingDownGracefully {
                let report = try await exporter.run(app, in: directory) { Task.isShuttingDownGracefully }
                if let lost = report.lost { logger.error("the export of pushes has a gap: \(lost)") }
                guard report.pushes > 0 else { continue }
                logger.info("pushes exported", metadata: ["app": "\(app)", "pushes": "\(report.pushes)"])
            }
        } catch ExportError.busy {
            logger.debug("another process exports pushes")
        } catch {
            let text = CommandFailure(error)?.message ?? "\(error)"
            logger.error("pushes are not exported: \(text)", metadata: ["again_in": "\(Self.interval)"])
        }
    }
}
