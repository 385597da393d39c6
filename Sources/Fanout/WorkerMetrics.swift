import LiveActivity
import Metrics
import Store

/// The names of the metrics that this target defines. Each worker counts its own work, so add up those of all workers.
public enum WorkerMetricName {
    public static let tokens = "lamplighter_tokens_total"
    public static let broadcasts = "lamplighter_broadcasts_total"
    /// Events that webhooks took, that are tried again, and that were given up.
    public static let webhooks = "lamplighter_webhook_events_total"
    static let retries = "lamplighter_retries_total"
    static let duplicatesPossible = "lamplighter_duplicates_possible_total"
}

/// What became of events for a webhook.
enum WebhookOutcome: String, CaseIterable { case delivered, retried, dead }

/// The worker's metrics: one set of handles for each app, made once.
struct WorkerMetrics: Sendable {
    private let outcomes: [AppKey: [SettledField: Counter]]
    private let broadcasts: [AppKey: [BroadcastEvent: Counter]]
    private let webhooks: [AppKey: [WebhookOutcome: Counter]]
    private var attempts: [AppKey: (retries: Counter, duplicates: Counter)] = [:]

    init(_ apps: [AppKey]) {
        outcomes = Self.byOutcome(WorkerMetricName.tokens, apps)
        broadcasts = Self.byOutcome(WorkerMetricName.broadcasts, apps)
        webhooks = Self.byOutcome(WorkerMetricName.webhooks, apps)
        for app in apps {
            let labels = [("app", app.rawValue)]
            attempts[app] = (
                Counter(label: WorkerMetricName.retries, dimensions: labels),
                Counter(label: WorkerMetricName.duplicatesPossible, dimensions: labels)
            )
        }
    }

    private static func byOutcome<Outcome: CaseIterable & RawRepresentable & Hashable>(
        _ label: String, _ apps: [AppKey]
    ) -> [AppKey: [Outcome: Counter]] where Outcome.RawValue == String {
        Dictionary(
            uniqueKeysWithValues: apps.map { app in
                let counters = Outcome.allCases.map { outcome in
                    let dimensions = [("app", app.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: label, dimensions: dimensions))
                }
                return (app, Dictionary(uniqueKeysWithValues: counters))
            })
    }

    /// Counts tokens by their outcomes, and those that are tried again.
    func count(_ app: AppKey, _ counted: [SettledField: Int], retries: Int = 0, duplicatesPossible: Int = 0) {
        for (field, number) in counted where number > 0 { outcomes[app]?[field]?.increment(by: number) }
        if retries > 0 { attempts[app]?.retries.increment(by: retries) }
        if duplicatesPossible > 0 { attempts[app]?.duplicates.increment(by: duplicatesPossible) }
    }

    /// Counts events for an app's webhook.
    func webhook(_ app: AppKey, _ counted: [WebhookOutcome: Int]) {
        for (outcome, number) in counted where number > 0 { webhooks[app]?[outcome]?.increment(by: number) }
    }

    /// Counts broadcasts that left the broadcast queue or are tried again.
    func broadcast(_ app: AppKey, _ counted: [BroadcastEvent: Int]) {
        for (event, number) in counted { broadcasts[app]?[event]?.increment(by: number) }
    }
}
