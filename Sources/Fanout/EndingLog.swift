import LiveActivity
import Logging
import Store
import Synchronization

/// Logs each push that this worker ends, in one line, and counts it.
final class EndingLog: Sendable {
    /// How many lines may come at once, and in a second. More are counted in `left_out`.
    private static let (burst, perSecond) = (1_000, 100.0)

    private let store: Store
    private let metrics: WorkerMetrics
    private let logger: Logger
    private let throttle = LogThrottle(burst: EndingLog.burst, perSecond: EndingLog.perSecond)
    private let endings: AsyncStream<PushEnding>
    private let continuation: AsyncStream<PushEnding>.Continuation
    private let isFinishing = Atomic(false)

    /// Begins to listen. `run` does the work, so that no sweep waits for it.
    init(_ store: Store, _ metrics: WorkerMetrics, _ logger: Logger) {
        (self.store, self.metrics, self.logger) = (store, metrics, logger)
        (endings, continuation) = AsyncStream<PushEnding>.makeStream(bufferingPolicy: .bufferingNewest(10_000))
        store.endings.listen { [continuation] in continuation.yield($0) }
    }

    /// Runs until `finish` was called and all ends are told.
    func run() async {
        for await ending in endings {
            if let newer = ending.supersededBy {
                metrics.ended(ending.app, .superseded)
                write(ending) { ["push": "\(ending.push)", "state": "superseded", "superseded_by": "\(newer)"] }
                continue
            }
            var ledger = ending.ledger
            if ledger == nil {
                do {
                    ledger = try await store.pushes.ledger(ending.app, ending.name, ending.push)
                } catch {
                    // A worker that stops does not wait for a Redis that is away.
                    if isFinishing.load(ordering: .relaxed) { return }
                }
            }
            guard let ledger else { continue }
            let now = store.time.now()
            metrics.ended(ending.app, ledger, now: now)
            write(ending) { ledger.summary(now: now).mapValues { .stringConvertible($0) } }
        }
    }

    /// Ends `run` after the ends that are known.
    func finish() {
        isFinishing.store(true, ordering: .relaxed)
        store.endings.listen(nil)
        continuation.finish()
    }

    /// - Parameter fields: are made for the lines that are written
    private func write(_ ending: PushEnding, _ fields: () -> Logger.Metadata) {
        guard logger.logLevel <= .info, let leftOut = throttle.take() else { return }
        var fields = fields()
        fields["app"] = "\(ending.app)"
        fields["name"] = "\(ending.name)"
        if leftOut > 0 { fields["left_out"] = .stringConvertible(leftOut) }
        logger.info("push ended", metadata: fields)
    }
}
