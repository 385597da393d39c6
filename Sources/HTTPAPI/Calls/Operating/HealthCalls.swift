import Answers
import LiveActivity
import PrometheusText
import Store

/// The calls of probes and scrapers. They need no secret of an app.
struct HealthCalls: CallGroup {
    private let store: Store
    private let configuration: GatewayConfiguration
    private let metrics: GatewayMetrics
    private let registry: PrometheusRegistry
    private var apps: [AppKey] { configuration.apps.map(\.key) }

    init(_ parts: GatewayParts) {
        (store, configuration) = (parts.store, parts.configuration)
        (metrics, registry) = (parts.metrics, parts.registry)
    }

    func health() async throws -> Answer { Answer(200, HealthAnswer(version: configuration.version)) }

    func readiness() async throws -> Answer { try await Readiness(store: store, apps: apps).answer() }

    /// Reads queue depths and alarms from Redis at each scrape. Without Redis it still reports the process's metrics.
    func renderMetrics() async throws -> Answer {
        ProcessMetrics(registry).read()
        metrics.keep(apps)
        metrics.certificate(expiresAt: configuration.certificateExpiresAt)
        let snapshot = await store.partialSnapshot(apps, GatewayMetrics.parts)
        metrics.record(snapshot)
        return Answer(200, text: registry.text(), type: Answer.prometheusType)
    }
}
