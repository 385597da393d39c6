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
        let now = store.time.now()
        ProcessMetrics(registry).read()
        metrics.keep(apps)
        metrics.certificate(expiresAt: configuration.certificateExpiresAt)
        let depths = try? await store.queue.depth(apps)
        metrics.isUnread(depths == nil)
        // Without Redis, do not wait for each of the further questions in turn.
        guard let depths else { return Answer(200, text: registry.text(), type: Answer.prometheusType) }
        for depth in depths { metrics.record(depth) }
        for age in (try? await store.queue.age(apps, now: now)) ?? [] { metrics.record(age) }
        if let heartbeats = try? await store.heartbeats.list(now: now) {
            metrics.record(heartbeats, of: apps, now: now)
        }
        if let pauses = try? await store.pauses.list(apps) { metrics.record(pauses, of: apps) }
        if let load = try? await store.redisLoad() { metrics.record(load) }
        if let alarms = try? await store.alarms.list(apps) { metrics.record(alarms, of: apps) }
        for app in apps {
            if let names = try? await store.quarantine.count(app) { metrics.quarantined(app, names: names) }
            if let pushes = try? await store.deadLetters.count(app) { metrics.deadLetters(app, pushes: pushes) }
            if store.events.isOn(app), let status = try? await store.webhooks.status(app) {
                metrics.webhook(app, status)
            }
            if let counts = try? await store.broadcasts.counts(app) { metrics.broadcasts(app, counts) }
        }
        return Answer(200, text: registry.text(), type: Answer.prometheusType)
    }
}
