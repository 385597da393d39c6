import Answers
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import LiveActivity
public import Logging
import NIOCore
public import PrometheusText
import ServiceLifecycle
public import Store

/// The HTTP server of a worker, or a second one of a gateway: `/healthz`, `/readyz` and `/metrics`, and nothing else.
public final class Monitor: ListeningService {
    private let host: String
    private let port: Int
    private let version: String
    private let logger: Logger
    private let idleTimeout: Duration
    private let headTimeout: Duration
    private let secret: @Sendable () -> String?
    /// Their `X-Forwarded-For` tells a guesser's address.
    private let proxies: @Sendable () -> TrustedProxies
    private let guesses: SignInLimit
    private let readiness: @Sendable () async throws -> Answer
    private let metrics: @Sendable () async throws -> Answer
    private let binding = BoundPort()
    /// Silent connections are closed after this, so that they cannot block an orchestrator's probes.
    public static let idleTimeout: Duration = .seconds(5)
    /// Clients that send a head byte by byte lose their places after this. Probes and scrapers send theirs at once.
    static let headTimeout: Duration = .seconds(5)
    /// The most wrong secrets of one address in a minute at a worker, which has no `limits.failed_sign_ins`.
    static let guessesPerMinute = 60
    /// Enough for scrapers and probes. Another connection waits until one of them ends.
    private static let mostConnections = 256

    /// A worker's. Port 0 picks a free one. `/readyz` shows the alarms of `apps`, and `/healthz` shows `version`.
    /// - Parameter secret: what `/readyz` and `/metrics` ask for; nil: nothing
    public convenience init(
        host: String, port: Int, apps: [AppKey], store: Store, registry: PrometheusRegistry, version: String,
        secret: String? = nil, logger: Logger, idleTimeout: Duration = Monitor.idleTimeout
    ) {
        let readiness = Readiness(store: store, apps: apps)
        self.init(
            host: host, port: port, version: version, logger: logger, idleTimeout: idleTimeout, secret: { secret },
            guessesPerMinute: { Monitor.guessesPerMinute }, readiness: { try await readiness.answer() },
            metrics: {
                ProcessMetrics(registry).read()
                return Answer(200, text: registry.text(), type: Answer.prometheusType)
            })
    }

    init(
        host: String, port: Int, version: String, logger: Logger, idleTimeout: Duration = Monitor.idleTimeout,
        headTimeout: Duration = Monitor.headTimeout, secret: @escaping @Sendable () -> String?,
        guessesPerMinute: @escaping @Sendable () -> Int,
        proxies: @escaping @Sendable () -> TrustedProxies = { TrustedProxies() },
        readiness: @escaping @Sendable () async throws -> Answer,
        metrics: @escaping @Sendable () async throws -> Answer
    ) {
        self.host = host
        self.port = port
        self.version = version
        self.logger = logger
        self.idleTimeout = idleTimeout
        self.headTimeout = headTimeout
        self.secret = secret
        self.proxies = proxies
        guesses = SignInLimit(perMinute: guessesPerMinute)
        self.readiness = readiness
        self.metrics = metrics
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
                addresses: AddressLimit(0), headTimeout: headTimeout,
                configuration: .init(
                    additionalChannelHandlers: [StalledReaderHandler(timeout: .seconds(10))],
                    idleTimeout: TimeAmount(idleTimeout))),
            configuration: configuration,
            onServerRunning: { [binding] channel in binding.settle(channel.localAddress?.port) },
            logger: logger.quietAtInfo)
        try await application.run()
    }

    private func router() -> Router<GatewayContext> {
        let router = Router(context: GatewayContext.self, options: .autoGenerateHeadEndpoints)
        let version = version
        router.get("healthz") { _, _ in Answer(200, HealthAnswer(version: version)).response() }
        for (path, answer) in [("readyz", readiness), ("metrics", metrics)] {
            router.get(RouterPath(path)) { [self] request, context in
                do {
                    try check(request, context.channel)
                    return try await answer().response()
                } catch {
                    return Answer(APIError(thrown: error), operation: UUIDBytes.random().description).response()
                }
            }
        }
        return router
    }

    /// Refuses a request without the secret.
    private func check(_ request: Request, _ channel: any Channel) throws(APIError) {
        let address = ClientAddress(
            peer: channel.remoteAddress?.ipAddress, headers: request.headers, trusted: proxies())
        try MonitorSecret(secret()).check(request.headers, from: address, guesses)
    }
}
