import ArgumentParser
import HTTPAPI
import LiveActivity
import Logging
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

    /// Less than the 30 s after which supervisors and hosting services kill.
    private static let stopLimit: Duration = .seconds(25)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @OptionGroup(title: "Gateway") var gateway: GatewayFlags

    func run() async throws {
        let boot = try Boot(.gateway, global, redis.given + gateway.given, files: { $0.gatewayFiles })
        let (settings, logger, store) = (boot.settings, boot.logger, boot.store)
        let configuration = try Self.configuration(settings, logger)
        try await boot.connect()
        let service = Gateway(configuration, store: store, registry: boot.registry, logger: logger, spans: boot.spans)
        let machine = boot.machine
        try await boot.run(
            Boot.Process(
                name: boot.name, title: "gateway on \(machine)", apps: configuration.apps.map(\.key),
                service: service,
                listening: .init(
                    service: service, host: settings.gateway.host, port: settings.gateway.port,
                    scheme: service.usesTLS ? "https" : "http", words: "listening"),
                monitor: settings.gatewayMonitorPort.map { port in
                    let host = settings.gatewayMonitorHost
                    return .init(
                        service: service.monitor(host: host, port: port), host: host, port: port,
                        words: "health and metrics", setting: "monitor.port")
                }, limit: Self.stopLimit,
                reload: { try Self.reload(service, store, $0, logger) },
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
                }))
    }

    /// Lets a running gateway use other settings. `store` is its own, from its start.
    static func reload(_ gateway: Gateway, _ store: Store, _ next: Settings, _ logger: Logger) throws {
        gateway.reload(try configuration(next, logger), store: store.limited(quotas: next.quotas))
    }

    /// Reads and checks all that a gateway needs of its settings, and the files that they name.
    static func configuration(_ settings: Settings, _ logger: Logger) throws -> GatewayConfiguration {
        if let problem = settings.portProblem { throw problem }
        var configuration = settings.gateway
        configuration.apps = try settings.requiredApps().map { app in
            // A gateway does not sign, but an error in a configured key must show up before a worker needs it.
            // Workers check a key that only their user reads, or that is on their machines only.
            for pair in app.usesAPNs ? app.keyPairs : [] {
                guard let file = app.file(pair.file), !file.isWithheld else { continue }
                guard !file.isAbsent else {
                    logger.warning(
                        "an APNs key is not on this machine; a gateway works without it, a worker does not",
                        metadata: ["app": "\(app.key)", "setting": "\(pair.file.path)", "path": "\(file.path)"])
                    continue
                }
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
            if app.usesAPNs { _ = try app.required(.bundleID) }
            served.platforms = app.platforms
            served.staleAfter = settings.staleAfter(app).map { Int($0 / .seconds(1)) }
            served.endAfter = settings.endAfter(app)
            served.lives = settings.lives(app)
            served.catchesUp = settings.catchUp(app)
            served.takesReceipts = settings.receipts(app)
            served.respectsDismissal = settings.respectDismissal(app)
            if !settings.deviceTags(app) { served.deviceRights.remove(.tags) }
            if !settings.deviceUsers(app) { served.deviceRights.remove(.users) }
            for feature in ProcessFeature.ofFeatures { try feature.app(app, &served) }
            served.credentials = try app.issuedCredentials()
            return served
        }
        configuration.settings = { settings.shown(for: $0) }
        for feature in ProcessFeature.ofFeatures { try feature.check(configuration) }
        configuration.version = Release.version
        configuration.identity = try GatewayCertificate.read(settings.gatewayTLS)
        return configuration
    }
}
