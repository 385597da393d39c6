import ArgumentParser
import FoundationEssentials
import HTTPAPI
import LiveActivity
import Logging
import Metrics
import PrometheusText
import Redis
import ServiceLifecycle
import Settings
import Store

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "serve", "Run a gateway, which takes registrations and publishes over HTTP.",
        details: """
            The gateway speaks plain HTTP, or TLS with gateway.cert_file and gateway.key_file. Any number may run. On \
            SIGTERM it accepts no more connections, answers the requests that it has, and exits 0. On SIGHUP it reads \
            its configuration again (see 'lamplighter reload').
            """,
        examples: "serve", "serve --host 0.0.0.0 --port 8080 --config /etc/lamplighter/lamplighter.yaml")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @OptionGroup(title: "Gateway") var gateway: GatewayFlags

    func run() async throws {
        CoreFiles.switchOff()
        let hangUps = HangUps()
        defer { withExtendedLifetime(hangUps) {} }
        let settings = try global.settings(redis.given + gateway.given)
        let logger = global.logger("gateway", settings)
        StartWarning.log(settings, isGateway: true, to: logger)
        let watched = WatchedFiles(settings.gatewayFiles)
        let configuration = try Self.configuration(settings, logger)
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        let client = RedisInspection.client(settings, needsPrimary: true, logger: logger)
        try await RedisInspection.await(client, settings, logger: logger)
        let wanted = settings.waitReplicas
        let replicas = wanted == 0 ? nil : ReplicaPolicy(replicas: wanted, timeout: settings.waitTimeout)
        let store = Store(
            redis: client, prefix: settings.redisPrefix, replicas: replicas,
            channelLife: settings.channelsExpireAfter, retention: settings.pushesExpireAfter,
            tagsPerChannel: settings.tagsPerChannel, maximumSchemas: settings.maximumSchemas, quotas: settings.quotas,
            events: settings.eventPolicies, actions: settings.actions)
        try await RedisInspection.judge(store, settings, publishes: true, logger: logger)
        try await store.claimFormat()
        let service = Gateway(configuration, store: store, registry: registry, logger: logger)
        let process = ProcessInfo.processInfo
        let machine = process.hostName
        let reloading = Reloading(
            process: .gateway, load: global.reloader(redis.given + gateway.given),
            apply: { next in
                let configuration = try Self.configuration(next, logger)
                let limited = store.limited(
                    tagsPerChannel: next.tagsPerChannel, maximumSchemas: next.maximumSchemas, quotas: next.quotas)
                service.reload(configuration, store: limited)
                LiveLogLevel.set(next.log.level)
            },
            files: { $0.gatewayFiles },
            accessChanged: { apps in
                for app in apps {
                    do throws(StoreError) {
                        try await store.actions.add(app, [.reload(on: machine)])
                    } catch {
                        logger.warning(
                            "Redis does not take an action: a reload is not in the log of actions",
                            metadata: ["app": "\(app)", "error": "\(error)"])
                    }
                }
            },
            watched: watched, hangUps: hangUps.signals, requests: store.reloads,
            name: "\(machine)-\(process.processIdentifier)", started: settings, logger: logger)
        let watch = FormatWatch(
            store: store, apps: configuration.apps.map(\.key), process: "a gateway", logger: logger)
        let clock = ClockWatch(
            store: store, apps: configuration.apps.map(\.key), process: "gateway on \(machine)", logger: logger)
        let rights = RightsWatch(
            registry: registry, store: store, apps: configuration.apps.map(\.key), process: "gateway on \(machine)",
            logger: logger)
        let monitor = settings.gatewayMonitorPort.map { port in
            (
                listener: service.monitor(host: settings.gatewayMonitorHost, port: port),
                host: settings.gatewayMonitorHost, port: port
            )
        }
        // The services stop in reverse order, so that the monitor still answers while requests end.
        let services: [any Service] =
            [monitor?.listener].compactMap(\.self) + [watch, clock, rights, reloading, service]
        try await ServiceRun.run(
            services, and: monitor, listener: service, at: settings.gateway.host, settings.gateway.port,
            scheme: service.usesTLS ? "https" : "http", saying: "listening", within: .seconds(30), logger: logger)
        await client.close()
    }

    /// Reads and checks all that a gateway needs of its settings, and the files that they name.
    private static func configuration(_ settings: Settings, _ logger: Logger) throws -> GatewayConfiguration {
        if let problem = settings.portProblem { throw problem }
        var configuration = settings.gateway
        configuration.apps = try settings.requiredApps().map { app in
            // A gateway does not sign, but an error in a configured key must show up before a worker needs it. A key that
            // only the workers' user reads is checked by them.
            for pair in app.keyPairs where app.file(pair.file)?.isWithheld == false {
                _ = try ProviderKeyFile(app, pair)
            }
            for field in app.shortSecrets {
                logger.warning(
                    "a secret is short and can be guessed: use at least \(AppSettings.safeSecretBytes) characters",
                    metadata: ["app": "\(app.key)", "setting": "\(field.path)"])
            }
            var served = GatewayApp(
                key: app.key, secret: try app.required(.secret), masterSecret: try app.required(.masterSecret))
            // Only workers send, but an app without it is not ready to serve.
            _ = try app.required(.bundleID)
            served.staleAfter = settings.staleAfter(app).map { Int($0 / .seconds(1)) }
            served.endAfter = settings.endAfter(app)
            served.lives = settings.lives(app)
            served.catchesUp = settings.catchUp(app)
            served.takesReceipts = settings.receipts(app)
            served.respectsDismissal = settings.respectDismissal(app)
            if !settings.deviceTags(app) { served.deviceRights.remove(.tags) }
            if !settings.deviceUsers(app) { served.deviceRights.remove(.users) }
            served.credentials = try app.issuedCredentials()
            return served
        }
        configuration.version = Release.version
        configuration.identity = try GatewayCertificate.read(settings.gatewayTLS)
        return configuration
    }
}
