import LiveActivity
import Logging
import Store

extension Timers {
    private static let mostSchedules = 256

    /// Commits the schedules that are due. Every worker knows when the next one is due (`TimerPlan`), so a schedule is
    /// a push well within a second of its time. After an error of Redis, the next turn of any worker continues.
    func commitSchedules() async {
        for app in apps {
            do throws(StoreError) {
                for run in try await store.schedules.runDue(app, limit: Self.mostSchedules) { report(run, app) }
            } catch { logger.debug("cannot commit schedules: \(error)") }
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
