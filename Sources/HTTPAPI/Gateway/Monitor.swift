import Hummingbird
import HummingbirdCore
public import LiveActivity
public import Logging
import NIOCore
public import PrometheusText
import ServiceLifecycle
public import Store
import StrictJSON

/// The HTTP server of a worker: `/healthz`, `/readyz` and `/metrics` as the gateway has them, and nothing else.
public final class Monitor: ListeningService {
    private let host: String
    private let port: Int
    private let readiness: Readiness
    private let registry: PrometheusRegistry
    private let version: String
    private let logger: Logger
    private let idleTimeout: Duration
    private let binding = BoundPort()
    /// Silent connections are closed after this, so that they cannot block an orchestrator's probes.
    public static let idleTimeout: Duration = .seconds(5)
    /// Enough for scrapers and probes. Another connection waits until one of them ends.
    private static let mostConnections = 256

    /// Port 0 picks a free one. `/readyz` shows the alarms of `apps`, and `/healthz` shows `version`.
    public init(
        host: String, port: Int, apps: [AppKey], store: Store, registry: PrometheusRegistry, version: String,
        logger: Logger, idleTimeout: Duration = Monitor.idleTimeout
    ) {
        self.host = host
        self.port = port
        readiness = Readiness(store: store, apps: apps)
        self.registry = registry
        self.version = version
        self.logger = logger
        self.idleTimeout = idleTimeout
    }

    public func boundPort() async -> Int? { await binding.port() }

    public func run() async throws {
        defer { binding.settle(nil) }
        var configuration = ApplicationConfiguration(
            address: .hostname(host, port: port), serverName: "lamplighter", backlog: 64)
        configuration.availableConnectionsDelegate = MaximumAvailableConnections(Self.mostConnections)
        let application = Application(
            router: router(),
            server: .http1(
                maximumBodyBytes: { 1_024 }, addresses: AddressLimit(0),
                configuration: .init(
                    additionalChannelHandlers: [StalledReaderHandler(timeout: .seconds(10))],
                    idleTimeout: TimeAmount(idleTimeout))),
            configuration: configuration,
            onServerRunning: { [binding] channel in binding.settle(channel.localAddress?.port) },
            logger: logger.quietAtInfo)
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        let (registry, version, readiness) = (registry, version, readiness)
        router.get("healthz") { _, _ in Answer(200, ["ok": true, "version": .string(version)]).response() }
        router.get("metrics") { _, _ in
            ProcessMetrics(registry).read()
            return Answer(200, text: registry.text(), type: Answer.prometheusType).response()
        }
        router.get("readyz") { _, _ in
            do {
                return try await readiness.answer().response()
            } catch {
                return Answer(APIError(thrown: error), operation: UUIDBytes.random().description).response()
            }
        }
        return router
    }
}
