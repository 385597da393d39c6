import Fanout
import Glibc
import Logging
import PrometheusText
import ServiceLifecycle

/// Logs what this worker has settled since its start: on SIGUSR1, and once more when it ends.
struct WorkerTotals: Service {
    let registry: PrometheusRegistry
    let logger: Logger

    func run() async throws {
        let (asked, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        Signals.listen(to: SIGUSR1) { continuation.yield() }
        await withGracefulShutdownHandler {
            for await _ in asked { log() }
        } onGracefulShutdown: {
            continuation.finish()
        }
        Signals.ignore(SIGUSR1)
    }

    func log() {
        let tokens = ["delivered": 0, "pruned": 0].merging(byOutcome(.tokens)) { $1 }
        logger.notice("settled since the start", metadata: tokens.mapValues { "\($0)" })
    }

    /// The sums of a counter over all apps, by the label `outcome`.
    func byOutcome(_ counter: WorkerMetricName) -> [String: Int] {
        registry.snapshot(of: counter.rawValue).reduce(into: [:]) { sums, sample in
            sums[sample.labels["outcome"] ?? "", default: 0] += Int(sample.value)
        }
    }
}
