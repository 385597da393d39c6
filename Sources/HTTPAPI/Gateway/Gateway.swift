import Console
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import PrometheusText
import ServiceLifecycle
public import Store

/// The HTTP server. It binds when it is run and answers until graceful shutdown. All state is in Redis.
public final class Gateway: ListeningService {
    private let configuration: GatewayConfiguration
    private let store: Store
    private let registry: PrometheusRegistry
    private let logger: Logger
    private let clock: @Sendable () -> Int64
    private let binding = BoundPort()

    /// - Parameters:
    ///   - registry: is rendered by `/metrics`. Bootstrap `MetricsSystem` with it to show other metrics too.
    ///   - clock: returns epoch milliseconds. Nil means Redis's clock.
    public init(
        _ configuration: GatewayConfiguration, store: Store, registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger, clock: (@Sendable () -> Int64)? = nil
    ) {
        self.configuration = configuration
        self.store = store
        self.registry = registry
        self.logger = logger
        self.clock = clock ?? store.time.now
    }

    public func boundPort() async -> Int? { await binding.port() }

    public func run() async throws {
        defer { binding.settle(nil) }
        let metrics = GatewayMetrics(registry)
        let handlers = Handlers(
            store: store, configuration: configuration,
            bounds: QueueBounds(
                apps: configuration.apps.map(\.key), perApp: configuration.maximumQueue,
                total: configuration.maximumQueueTotal),
            metrics: metrics, registry: registry, schemas: SchemaCache(store.schemas),
            credentials: CredentialCache(store.credentials))
        let recorder = ActionRecorder(store.actions, logger: logger)
        let authenticator = Authenticator(configuration.apps)
        let capacity = configuration.capacity
        let bridge = ConsoleBridge(
            handlers: handlers, authenticator: authenticator, capacity: capacity, recorder: recorder)
        let responder = GatewayResponder(
            handlers: handlers, authenticator: authenticator, capacity: capacity, metrics: metrics, logger: logger,
            configuration: configuration, clock: clock, recorder: recorder,
            console: configuration.hasConsole ? Console(bridge.gateway, store: store) : nil,
            signIns: SignInLimit(perMinute: configuration.failedSignInsPerMinute))
        let connections = OpenFiles.connectionLimit(wanted: configuration.maximumConnections)
        if connections < configuration.maximumConnections {
            logger.warning(
                "the open-files limit is too low for gateway.max_connections: raise it",
                metadata: ["connections": "\(connections)", "configured": "\(configuration.maximumConnections)"])
        }
        let configuration = configuration
        var applicationConfiguration = ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port), serverName: "lamplighter", backlog: 1_024)
        applicationConfiguration.availableConnectionsDelegate = MaximumAvailableConnections(connections)
        // Measure first, so that even the first registration is dated by Redis's clock and not by this machine's.
        try? await store.time.measure()
        var services: [any Service] = [ClockKeeper(time: store.time), recorder]
        if configuration.readsIntake {
            let callers = configuration.apps.map { IntakeService.Caller(app: $0, tokens: SDKTokens(app: $0)) }
            services.append(IntakeService(handlers, callers, recorder, logger: logger, clock: clock))
        }
        let application = Application(
            responder: responder,
            server: .http1(
                maximumBodyBytes: configuration.maximumBodyBytes,
                addresses: AddressLimit(configuration.maximumConnectionsPerAddress),
                headTimeout: configuration.headTimeout,
                configuration: .init(
                    additionalChannelHandlers: [StalledReaderHandler(timeout: configuration.writeTimeout)],
                    idleTimeout: TimeAmount(configuration.idleTimeout),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))),
            configuration: applicationConfiguration,
            services: services,
            onServerRunning: { [binding] channel in binding.settle(channel.localAddress?.port) },
            logger: logger.quietAtInfo)
        do {
            try await application.run()
        } catch {
            await recorder.flush(all: true)
            throw error
        }
        await recorder.flush(all: true)
    }
}

/// Measures Redis's clock as long as the gateway runs.
private struct ClockKeeper: Service {
    let time: ServerTime

    func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            // If Redis cannot be reached, the last measurement stays in use.
            try? await time.measure()
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: ServerTime.interval) }
        }
    }
}
