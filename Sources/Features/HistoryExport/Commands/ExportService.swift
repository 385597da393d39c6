import HistoryExport
import LiveActivity
import Logging
import ServiceLifecycle
import Settings
import Store

/// Exports finished pushes to a directory (`pushes.export`). The directory's lock lets one process at a time do so. A
/// failure is an alarm, because what is not exported in time is gone for good.
struct ExportService: Service {
    private static let interval: Duration = .seconds(300)

    let store: Store
    let apps: [AppKey]
    let directory: String
    let withContent: Bool
    /// Names this process in the alarm.
    let process: String
    let logger: Logger

    func run() async {
        var hasFailed = false
        while !Task.isShuttingDownGracefully {
            let reason = await export()
            // Redis itself may be the reason. The log has it too.
            for app in apps {
                if let reason {
                    try? await store.alarms.raise(app, .export, "\(process): \(reason)")
                } else if hasFailed {
                    try? await store.alarms.clear(app, .export)
                }
            }
            hasFailed = reason != nil
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
        }
    }

    /// - Returns: why nothing was exported; nil if all is well
    private func export() async -> String? {
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
            return text
        }
        return nil
    }
}

extension ProcessFeature {
    static let export = ProcessFeature(besideWorker: { boot in
        guard let directory = boot.settings.export.directory else { return [] }
        return [
            ExportService(
                store: boot.store, apps: boot.settings.apps.map(\.key), directory: directory,
                withContent: boot.settings.export.hasContent, process: boot.name, logger: boot.logger)
        ]
    })
}

extension ExportError: ExitingError {
    var failure: CommandFailure { CommandFailure(isLasting ? .configuration : .failed, description) }
}
