import LiveActivity
import Logging
import Store
import Threads

/// Processes stream entries to their end: begins pushes, sweeps shards, sends retries, applies removals. A worker has
/// one. All of its state is in Redis, in the leases that it holds and in the circuits.
struct Dispatcher: Sendable {
    let store: Store
    let apps: [AppKey: WorkerApp]
    /// A reload changes some of the options.
    let live: Replaceable<WorkerOptions>
    var options: WorkerOptions { live.current }
    /// The worker's name with its random part: the owner of leases and the consumer of the streams.
    let owner: String
    let circuits: AppCircuits
    let metrics: WorkerMetrics
    let logger: Logger
    let leases: LeaseKeeper
    let drain = Drain()
    let verdictLog = VerdictLog()
    let alarmThrottle = AlarmThrottle()
    let pauses = PauseBook()
    let outboxes = OutboxTurns()
    let openRequests = OpenRequests()

    /// The worker's clock, milliseconds.
    var now: Int64 { options.now() }

    /// Tells the pool what to do with the stream entry afterwards.
    enum Disposition {
        /// Nothing is left to do, or the remaining work is stored where a worker finds it.
        case acknowledge
        /// The entry stays pending. A worker claims it after `claimAfter`.
        case leave
    }

    func scheduleRetries(
        _ app: AppKey, _ name: ActivityName, _ priority: PushPriority, _ due: Int64
    ) async throws(StoreError) {
        try await store.queue.schedule(.retries(app, name, priority), due: due)
    }
}
