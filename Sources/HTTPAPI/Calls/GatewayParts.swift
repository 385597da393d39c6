import PrometheusText
import Spans
import Store

/// The parts of a gateway that its calls share. A reload replaces them together.
final class GatewayParts: Sendable {
    let store: Store
    let configuration: GatewayConfiguration
    /// The limits of the queues. They remember what they measured, so all requests share one value.
    let bounds: QueueBounds
    let metrics: GatewayMetrics
    let registry: PrometheusRegistry
    let schemas: SchemaCache
    let credentials: CredentialCache
    let nearNames: NearNames
    /// Takes the spans of publishes. Nil: there are no traces.
    let spans: SpanExporter?

    init(
        store: Store, configuration: GatewayConfiguration, metrics: GatewayMetrics, registry: PrometheusRegistry,
        spans: SpanExporter? = nil
    ) {
        (self.store, self.configuration, bounds) = (store, configuration, configuration.bounds)
        (self.metrics, self.registry) = (metrics, registry)
        schemas = SchemaCache(store.schemas)
        credentials = CredentialCache(store.credentials)
        nearNames = NearNames()
        self.spans = spans
    }

    /// The same metrics and caches with another configuration.
    init(_ other: GatewayParts, _ configuration: GatewayConfiguration, store: Store) {
        (self.store, self.configuration, bounds) = (store, configuration, configuration.bounds)
        (metrics, registry) = (other.metrics, other.registry)
        (schemas, credentials, nearNames) = (other.schemas, other.credentials, other.nearNames)
        spans = other.spans
    }
}

/// The calls about one subject. Each handler is a method, which a row of `Endpoint.all` names. A request makes a value
/// of the type, which keeps the parts that it uses.
protocol CallGroup: Sendable {
    init(_ parts: GatewayParts)
}
