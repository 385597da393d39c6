import LiveActivity
import Metrics
import Store

/// The worker's metrics, one set of handles per app, made once.
struct WorkerMeters: Sendable {
    private let outcomes: [AppKey: [SettledField: Counter]]
    private let attempts: [AppKey: (retries: Counter, duplicates: Counter)]

    init(_ apps: [AppKey]) {
        outcomes = Dictionary(
            uniqueKeysWithValues: apps.map { app in
                let counters = SettledField.allCases.map { field in
                    let dimensions = [("app", app.rawValue), ("outcome", field.rawValue)]
                    return (field, Counter(label: "lamplighter_tokens_total", dimensions: dimensions))
                }
                return (app, Dictionary(uniqueKeysWithValues: counters))
            })
        attempts = Dictionary(
            uniqueKeysWithValues: apps.map { app in
                let dimensions = [("app", app.rawValue)]
                return (
                    app,
                    (
                        retries: Counter(label: "lamplighter_retries_total", dimensions: dimensions),
                        duplicates: Counter(label: "lamplighter_duplicates_possible_total", dimensions: dimensions)
                    )
                )
            })
    }

    func settled(_ app: AppKey, _ settlement: Settlement) {
        for (field, number) in settlement.counts.merging(settlement.finished, uniquingKeysWith: +) where number > 0 {
            outcomes[app]?[field]?.increment(by: number)
        }
        if settlement.retries > 0 { attempts[app]?.retries.increment(by: settlement.retries) }
        if settlement.duplicatesPossible > 0 { attempts[app]?.duplicates.increment(by: settlement.duplicatesPossible) }
    }

    func pruned(_ app: AppKey, _ number: Int) {
        if number > 0 { outcomes[app]?[.pruned]?.increment(by: number) }
    }
}
