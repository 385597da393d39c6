import Answers
import HTTPTypes
import LiveActivity
import OpenSSL
import PrometheusText
import Store
import StrictJSON

/// The work of each endpoint: one method for each row of `Endpoint.all`. Most are in `Handlers+….swift`.
final class Handlers: Sendable {
    let store: Store
    let configuration: GatewayConfiguration
    let bounds: QueueBounds
    let metrics: GatewayMetrics
    let registry: PrometheusRegistry
    let schemas: SchemaCache
    let credentials: CredentialCache
    let nearNames: NearNames

    init(
        store: Store, configuration: GatewayConfiguration, bounds: QueueBounds, metrics: GatewayMetrics,
        registry: PrometheusRegistry, schemas: SchemaCache, credentials: CredentialCache,
        nearNames: NearNames = NearNames()
    ) {
        self.store = store
        self.configuration = configuration
        self.bounds = bounds
        self.metrics = metrics
        self.registry = registry
        self.schemas = schemas
        self.credentials = credentials
        self.nearNames = nearNames
    }

    /// The same caches with another configuration.
    func with(_ configuration: GatewayConfiguration, store: Store) -> Handlers {
        Handlers(
            store: store, configuration: configuration, bounds: configuration.bounds, metrics: metrics,
            registry: registry, schemas: schemas, credentials: credentials, nearNames: nearNames)
    }

    func health() async throws -> Answer { Answer(200, HealthAnswer(version: configuration.version)) }

    /// The OpenAPI document of all calls.
    func openAPI() async throws -> Answer {
        Self.openAPIDocument
    }

    private static let openAPIDocument: Answer = {
        do {
            let bytes = try OpenAPIDocument.json(Endpoint.all.map(\.operation)).bytes
            var answer = Answer(200, json: bytes)
            // The same for every caller until the gateway is replaced.
            let tag = "\"\(Hex.encode(SHA256Digest(of: bytes)).prefix(16))\""
            answer.fields = [(.eTag, tag), (.cacheControl, "public, max-age=3600")]
            return answer
        } catch {
            // OpenAPITests makes the document of this very program.
            preconditionFailure("OpenAPI: \(error)")
        }
    }()

    func readiness() async throws -> Answer {
        try await Readiness(store: store, apps: configuration.apps.map(\.key)).answer()
    }

    /// Reads queue depths and alarms from Redis at each scrape. Without Redis it still reports the process's metrics.
    func renderMetrics() async throws -> Answer {
        let apps = configuration.apps.map(\.key)
        ProcessMetrics(registry).read()
        metrics.keep(apps)
        metrics.certificate(expiresAt: configuration.certificateExpiresAt)
        let snapshot = await store.partialSnapshot(apps, GatewayMetrics.parts)
        metrics.record(snapshot) { store.events.isOn($0) }
        return Answer(200, text: registry.text(), type: Answer.prometheusType)
    }
}
