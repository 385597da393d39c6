import LiveActivity
import Metrics
import Store

/// The names of the metrics that this target defines. Each worker counts its own work, so add up those of all workers.
public enum WorkerMetricName {
    public static let tokens = "lamplighter_tokens_total"
    public static let broadcasts = "lamplighter_broadcasts_total"
    static let retries = "lamplighter_retries_total"
    static let duplicatesPossible = "lamplighter_duplicates_possible_total"
}

/// Counts the worker's own work.
struct WorkerMetrics: Sendable {
    /// Begins each series of these apps with 0.
    init(_ apps: [AppKey]) {
        for app in apps {
            for field in SettledField.allCases { increment(WorkerMetricName.tokens, app, field.rawValue, by: 0) }
            for event in BroadcastEvent.allCases { increment(WorkerMetricName.broadcasts, app, event.rawValue, by: 0) }
            increment(WorkerMetricName.retries, app, by: 0)
            increment(WorkerMetricName.duplicatesPossible, app, by: 0)
        }
    }

    func settled(_ app: AppKey, _ settlement: Settlement) {
        count(app, settlement.counts)
        attempted(app, settlement.retries, settlement.duplicatesPossible)
    }

    func settled(_ app: AppKey, _ settlement: RetrySettlement) {
        count(app, settlement.finished)
        attempted(app, settlement.retries, settlement.duplicatesPossible)
    }

    /// Counts tokens by their outcomes.
    func count(_ app: AppKey, _ counted: [SettledField: Int]) {
        for (field, number) in counted where number > 0 {
            increment(WorkerMetricName.tokens, app, field.rawValue, by: number)
        }
    }

    /// Counts broadcasts that left the broadcast queue or are tried again.
    func broadcast(_ app: AppKey, _ counted: [BroadcastEvent: Int]) {
        for (event, number) in counted { increment(WorkerMetricName.broadcasts, app, event.rawValue, by: number) }
    }

    private func attempted(_ app: AppKey, _ retries: Int, _ duplicates: Int) {
        if retries > 0 { increment(WorkerMetricName.retries, app, by: retries) }
        if duplicates > 0 { increment(WorkerMetricName.duplicatesPossible, app, by: duplicates) }
    }

    private func increment(_ name: String, _ app: AppKey, _ outcome: String? = nil, by number: Int) {
        let labels = [("app", app.rawValue)] + (outcome.map { [("outcome", $0)] } ?? [])
        Counter(label: name, dimensions: labels).increment(by: number)
    }
}
