import Dispatch
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
        signal(SIGUSR1, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1)
        source.setEventHandler { continuation.yield() }
        source.activate()
        await withGracefulShutdownHandler {
            for await _ in asked { log() }
        } onGracefulShutdown: {
            continuation.finish()
        }
        source.cancel()
    }

    func log() {
        var metadata: Logger.Metadata = [:]
        let text = registry.text()
        let tokens = ["delivered": 0, "pruned": 0].merging(Self.outcomes("lamplighter_tokens_total", text)) { $1 }
        for (outcome, count) in tokens { metadata[outcome] = "\(count)" }
        logger.notice("settled since the start", metadata: metadata)
        let broadcasts = Self.outcomes("lamplighter_broadcasts_total", text).filter { $0.value > 0 }
        guard !broadcasts.isEmpty else { return }
        logger.notice("broadcasts since the start", metadata: broadcasts.mapValues { "\($0)" })
    }

    /// Sums `METRIC{app="…",outcome="…"} N` over all apps.
    static func outcomes(_ metric: String, _ text: String) -> [String: Int] {
        var found: [String: Int] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix(metric + "{") {
            guard let label = line.firstRange(of: "outcome=\""),
                let end = line[label.upperBound...].firstIndex(of: "\""),
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            found[String(line[label.upperBound..<end]), default: 0] += count
        }
        return found
    }
}
