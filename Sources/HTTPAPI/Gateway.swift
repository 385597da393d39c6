import LiveActivity
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import PrometheusText
import ServiceLifecycle
public import Store

/// The HTTP server: binds when it is run, answers until graceful shutdown, then lets requests in work finish. Keeps nothing
/// that a restart would miss: all state is in Redis.
public final class Gateway: ListeningService {
    private let configuration: GatewayConfiguration
    private let store: Store
    private let registry: PrometheusRegistry
    private let logger: Logger
    private let clock: @Sendable () -> Int64
    private let binding = BoundPort()

    /// `registry` is what `/metrics` renders; bootstrap `MetricsSystem` with the same one to show other parts' numbers too.
    public convenience init(
        _ configuration: GatewayConfiguration, store: Store, registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger
    ) {
        self.init(configuration, store: store, registry: registry, logger: logger, clock: store.time.now)
    }

    /// `clock`: epoch milliseconds, in place of Redis's time.
    init(
        _ configuration: GatewayConfiguration, store: Store, registry: PrometheusRegistry, logger: Logger,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.configuration = configuration
        self.store = store
        self.registry = registry
        self.logger = logger
        self.clock = clock
    }

    public func boundPort() async -> Int? { await binding.port() }

    public func run() async throws {
        defer { binding.settle(nil) }
        let metrics = GatewayMetrics(registry)
        let responder = GatewayResponder(
            handlers: Handlers(
                store: store, configuration: configuration,
                bounds: QueueBounds(
                    apps: configuration.apps.map(\.key), perApp: configuration.maximumQueue,
                    total: configuration.maximumQueueTotal),
                metrics: metrics, registry: registry, schemas: SchemaBook(store.schemas)),
            authenticator: Authenticator(configuration.apps), capacity: configuration.capacity,
            metrics: metrics, logger: logger, configuration: configuration, clock: clock)
        let connections = OpenFiles.connectionLimit(wanted: configuration.maximumConnections)
        if connections < configuration.maximumConnections {
            logger.warning(
                "fewer connections than configured: the open-files limit is low",
                metadata: ["connections": "\(connections)", "configured": "\(configuration.maximumConnections)"])
        }
        let configuration = configuration
        var applicationConfiguration = ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port), serverName: "lamplighter", backlog: 1_024)
        applicationConfiguration.availableConnectionsDelegate = MaximumAvailableConnections(connections)
        // So that not even the first registration is dated by this machine.
        try? await store.time.measure()
        let application = Application(
            responder: responder,
            server: .http1(
                maximumBodyBytes: configuration.maximumBodyBytes,
                addresses: AddressLimit(configuration.maximumConnectionsPerAddress),
                configuration: .init(
                    additionalChannelHandlers: [StalledReaderHandler(timeout: configuration.writeTimeout)],
                    idleTimeout: TimeAmount(configuration.idleTimeout),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))),
            configuration: applicationConfiguration,
            services: [ClockKeeper(time: store.time)],
            onServerRunning: { [binding] channel in binding.settle(channel.localAddress?.port) },
            logger: logger.quietAtInfo)
        try await application.run()
    }
}

/// Measures Redis's clock as long as the gateway runs.
private struct ClockKeeper: Service {
    let time: ServerTime

    func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            // Redis is away: the last measurement goes on to serve.
            try? await time.measure()
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: ServerTime.interval) }
        }
    }
}
