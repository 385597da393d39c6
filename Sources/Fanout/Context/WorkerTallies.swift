import LiveActivity
import Store
import Synchronization

/// A worker's counts since its start, by app, for its heartbeat.
final class WorkerTallies: Sendable {
    struct Tally: Sendable {
        var outcomes = Outcomes()
        /// Answers other than 200, by reason.
        var errors: [String: Int] = [:]
        var pages = 0
    }

    private let tallies: Mutex<[AppKey: Tally]>

    init(_ apps: [AppKey]) { tallies = Mutex(Dictionary(uniqueKeysWithValues: apps.map { ($0, Tally()) })) }

    func count(_ app: AppKey, _ counted: Outcomes) { tallies.withLock { $0[app]?.outcomes += counted } }

    /// Reasons that are not `known` count as `other`.
    func count(_ app: AppKey, errors: [String: Int], known: Set<String>) {
        tallies.withLock { tallies in
            for (reason, number) in errors {
                tallies[app]?.errors[known.contains(reason) ? reason : "other", default: 0] += number
            }
        }
    }

    func pages(_ app: AppKey, _ change: Int) { tallies.withLock { $0[app]?.pages += change } }

    var values: [AppKey: Tally] { tallies.withLock(\.self) }
}
