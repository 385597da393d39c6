import Console
import Glibc
import Hummingbird
import HummingbirdCore
import LiveActivity
public import Logging
import NIOCore
import NIOPosix
public import PrometheusText
import ServiceLifecycle
public import Spans
public import Store
import Threads

/// The HTTP server. It binds when it is run and answers until graceful shutdown. All state is in Redis.
public final class Gateway: ListeningService {
    private let configuration: GatewayConfiguration
    private let store: Store
    let live: Replaceable<GatewayResponder.Served>
    private let metrics: GatewayMetrics
    private let registry: PrometheusRegistry
    private let logger: Logger
    private let clock: @Sendable () -> Int64
    private let binding = BoundPort()

    /// - Parameters:
    ///   - registry: is rendered by `/metrics`. Bootstrap `MetricsSystem` with it to show other metrics too.
    ///   - spans: takes the spans of publishes. Nil: there are no traces.
    ///   - clock: returns epoch milliseconds. Nil means Redis's clock.
    public init(
        _ configuration: GatewayConfiguration, store: Store, registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger, spans: SpanExporter? = nil, clock: (@Sendable () -> Int64)? = nil
    ) {
        self.configuration = configuration
        self.store = store
        self.registry = registry
        self.logger = logger
        self.clock = clock ?? store.time.now
        metrics = GatewayMetrics(registry)
        let parts = GatewayParts(
            store: store, configuration: configuration, metrics: metrics, registry: registry, spans: spans)
        live = Replaceable(.init(parts, capacity: configuration.capacity))
        metrics.begin(configuration.apps.map(\.key), Endpoint.routes)
    }

    /// Uses another configuration from the next request on, and its certificate from the next connection on. Address,
    /// port, limits of connections and the services of features stay.
    /// - Parameter store: the gateway's own store, with other limits (`Store.limited`)
    public func reload(_ next: GatewayConfiguration, store: Store) {
        metrics.begin(next.apps.map(\.key), Endpoint.routes)
        live.change { served in
            var next = next
            next.version = served.configuration.version
            // Requests that run are counted in their capacity, so it stays unless a limit has changed.
            let capacity = next.capacity
            served = .init(
                GatewayParts(served.parts, next, store: store),
                capacity: served.capacity.hasLimits(of: capacity) ? served.capacity : capacity)
        }
    }

    /// Whether new connections speak TLS.
    public var usesTLS: Bool { live.current.configuration.identity != nil }

    public func boundPort() async -> Int? { await binding.port() }

    /// A server of this gateway's `/healthz`, `/readyz` and `/metrics` alone. Run it beside the gateway.
    public func monitor(host: String, port: Int) -> Monitor {
        let live = live
        return Monitor(
            host: host, port: port, version: configuration.version, logger: logger,
            secret: { live.current.configuration.monitorSecret },
            guessesPerMinute: { live.current.configuration.failedSignInsPerMinute },
            proxies: { live.current.configuration.trustedProxies },
            readiness: { try await HealthCalls(live.current.parts).readiness() },
            metrics: { try await HealthCalls(live.current.parts).renderMetrics() })
    }

    public func run() async throws {
        defer { binding.settle(nil) }
        let live = live
        let recorder = ActionRecorder(store.actions, logger: logger)
        let bridge = ConsoleBridge(live: live, recorder: recorder)
        let responder = GatewayResponder(
            live: live, metrics: metrics, logger: logger, clock: clock, recorder: recorder,
            console: configuration.hasConsole
                ? Console(bridge.gateway, undo: configuration.consoleUndo) : nil,
            signIns: SignInLimit { live.current.configuration.failedSignInsPerMinute },
            proofs: SignInLimit { GatewayResponder.falseProofsPerMinute }, rates: RateLimit(store.rates))
        let connections = OpenFiles.connectionLimit(wanted: configuration.maximumConnections)
        if connections < configuration.maximumConnections {
            logger.warning(
                "the open-files limit is too low for gateway.max_connections: raise it",
                metadata: ["connections": "\(connections)", "configured": "\(configuration.maximumConnections)"])
        }
        let endings = LogThrottle(burst: 1_000, perSecond: 100)
        store.endings.listen { [logger, clock] ending in
            guard let leftOut = endings.take() else { return }
            Self.log(ending, leftOut: leftOut, now: clock(), logger)
        }
        let configuration = configuration
        var applicationConfiguration = ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port), serverName: "lamplighter", backlog: 1_024)
        applicationConfiguration.availableConnectionsDelegate = MaximumAvailableConnections(connections)
        // Measure first, so that even the first registration is dated by Redis's clock and not by this machine's.
        try? await store.time.measure()
        var services: [any Service] = [ClockKeeper(time: store.time), recorder]
        let running = GatewayFeature.Running(live: live, recorder: recorder, logger: logger, clock: clock)
        services += configuration.features.flatMap { $0.services(running) }
        let tasks = EventLoopTasks.Group(LoopTurns.group)
        let application = Application(
            responder: responder,
            server: .http1(
                addresses: AddressLimit(configuration.maximumConnectionsPerAddress),
                headTimeout: configuration.headTimeout,
                tasks: tasks, turns: LoopTurns.gateways,
                identity: { live.current.configuration.identity },
                configuration: .init(
                    additionalChannelHandlers: [StalledReaderHandler(timeout: configuration.writeTimeout)],
                    idleTimeout: TimeAmount(configuration.idleTimeout),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100))),
            configuration: applicationConfiguration,
            services: services,
            onServerRunning: { [binding] channel in binding.settle(channel.localAddress?.port) },
            eventLoopGroupProvider: .shared(LoopTurns.group),
            logger: logger.quietAtInfo)
        do {
            // Connections are accepted on an event loop, because costly pages may have all threads of the usual pool.
            try await withTaskExecutorPreference(tasks[LoopTurns.group.next()]) { try await application.run() }
        } catch {
            await recorder.flush(all: true)
            throw error
        }
        await recorder.flush(all: true)
    }

    /// Logs a push that a call to this gateway ended: it was superseded or cancelled, or nothing of its dead letter was
    /// left to retry. Workers log the others.
    private static func log(_ ending: PushEnding, leftOut: Int, now: Int64, _ logger: Logger) {
        var metadata: Logger.Metadata = [
            "app": "\(ending.app)", "name": "\(ending.name)", "push": "\(ending.push)",
        ]
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        if let newer = ending.supersededBy {
            metadata["state"] = "superseded"
            metadata["superseded_by"] = "\(newer)"
        } else if let ledger = ending.ledger {
            metadata.merge(ledger.summary(now: now).mapValues { .stringConvertible($0) }) { first, _ in first }
        }
        logger.info("push ended", metadata: metadata)
    }
}

/// Measures Redis's clock as long as the gateway runs.
private struct ClockKeeper: Service {
    let time: ServerTime

    func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            // If Redis cannot be reached, the last measurement stays in use.
            try? await time.watch(notes: false)
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: ServerTime.interval) }
        }
    }
}

/// The process's limit of file descriptors. A server that runs out of them stops accepting connections for good.
private enum OpenFiles {
    /// Descriptors kept free for Redis, logs, event loops and other files of the process.
    static let reserve = 128

    /// Raises the soft limit as far as the hard limit allows, and returns how many connections fit.
    static func connectionLimit(wanted: Int) -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return min(wanted, 512) }
        let needed = rlim_t(wanted + reserve)
        if limit.rlim_cur < needed {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return max(16, min(wanted, Int(clamping: limit.rlim_cur) - reserve))
    }
}
