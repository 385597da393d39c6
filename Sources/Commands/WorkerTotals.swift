import Dispatch
import Glibc
import Logging
import PrometheusText
import ServiceLifecycle

/// What this worker has settled since its start: logged on SIGUSR1, and once more when it ends.
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
        for (outcome, count) in Self.outcomes(registry.text()) { metadata[outcome] = "\(count)" }
        logger.notice("settled since the start", metadata: metadata)
    }

    /// Sums `lamplighter_tokens_total{app="…",outcome="…"} N` over the apps.
    static func outcomes(_ text: String) -> [String: Int] {
        var found: [String: Int] = ["delivered": 0, "pruned": 0]
        for line in text.split(separator: "\n") where line.hasPrefix("lamplighter_tokens_total{") {
            guard let label = line.firstRange(of: "outcome=\""),
                let end = line[label.upperBound...].firstIndex(of: "\""),
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            found[String(line[label.upperBound..<end]), default: 0] += count
        }
        return found
    }
}
