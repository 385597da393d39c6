import LiveActivity
import Logging
import Store

/// Commits the schedules that are due. Every worker knows when the next is (`TimerPlan`), so a schedule becomes a push well
/// within a second of its time as long as one worker is there.
struct ScheduleTimer: Sendable {
    private static let batch = 256

    let store: Store
    let apps: [AppKey]
    let logger: Logger

    /// One look. What a Redis error leaves undone is taken up again by whoever comes next.
    func run() async {
        for app in apps {
            do throws(StoreError) {
                for run in try await store.schedules.runDue(app, limit: Self.batch) { report(run, app) }
            } catch {
                logger.debug("schedules found Redis away: \(error)")
            }
        }
    }

    private func report(_ run: ScheduleRun, _ app: AppKey) {
        let metadata: Logger.Metadata = ["app": "\(app)", "push": "\(run.id)", "late_ms": "\(run.lateness)"]
        switch run.outcome {
        case .sent: logger.info("a scheduled push was committed", metadata: metadata)
        case .failed(let reason): logger.warning("a scheduled push was refused: \(reason)", metadata: metadata)
        case .postponed(let reason): logger.info("a scheduled push is tried again: \(reason)", metadata: metadata)
        }
    }
}
