import APNsClient
import ArgumentParser
import Fanout
import HTTPAPI
import Lanes
import LiveActivity
import Logging
import Settings
import Store
import Threads

/// `lamplighter work`: runs one worker process. Any number of workers may run, on any machines.
struct WorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "work", "Run a worker, which sends pushes to APNs and FCM and settles their outcomes.",
        details: """
            A worker opens no port unless --port is set. Then it serves /healthz, /readyz and /metrics. On SIGTERM it \
            begins no new work, settles the pages in flight, and exits 0 within worker.drain_timeout. On SIGUSR1 it \
            logs what it has settled, and on SIGHUP it reads its configuration again (see 'lamplighter reload'). If it \
            is killed, other workers claim its work after worker.claim_after.
            """,
        examples: "work", "work --lanes 4 --name worker-eu-1 --config /etc/lamplighter/lamplighter.yaml",
        "work --host 0.0.0.0 --port 9090")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @OptionGroup(title: "Worker") var worker: WorkerFlags

    func run() async throws {
        let boot = try Boot(.worker, global, redis.given + worker.given, files: WorkerReload.files)
        let (settings, logger, store) = (boot.settings, boot.logger, boot.store)
        let apps = settings.apps
        for app in apps { try app.checkCertificates() }
        let keys = Dictionary(try apps.map { ($0.key, try WorkerReload.keys($0)) }) { $1 }
        let parts = try ProcessFeature.ofFeatures.compactMap { try $0.inWorker(boot) }
        if let fault = settings.apns.transport.fault {
            StartWarning(problem: fault.problem, remedy: fault.remedy).log(to: logger)
        }
        // Make the transports before waiting for Redis: a configuration that cannot send must end the process at once.
        let served = try apps.map { app in
            var worker = WorkerApp(
                key: app.key, senders: [], bundleID: app[.bundleID] ?? "", endAfter: settings.endAfter(app),
                rate: settings.deliveryRate(app))
            for platform in keys[app.key] ?? [] { try platform.serve(&worker, app, boot) }
            return worker
        }
        try await boot.connect()
        var options = settings.worker
        options.name = boot.name
        let service = Worker(
            store: store, apps: served, options: options, logger: logger, spans: boot.spans,
            tasks: parts.flatMap(\.tasks))
        let reload = WorkerReload(keys: keys, parts: parts, worker: service)
        let totals = WorkerTotals(registry: boot.registry, logger: logger)
        let ofFeatures = ProcessFeature.ofFeatures.flatMap { $0.besideWorker(boot) }
        try await boot.run(
            Boot.Process(
                name: options.name, title: "worker \(options.name)", apps: apps.map(\.key),
                consumer: service.consumer, service: service,
                monitor: settings.monitorPort.map { port in
                    let host = settings.monitorHost
                    let monitor = Monitor(
                        host: host, port: port, apps: apps.map(\.key), store: store, registry: boot.registry,
                        version: Release.version, secret: settings.monitorSecret, logger: logger)
                    return .init(service: monitor, host: host, port: port, words: "health and metrics")
                }, beside: [totals] + ofFeatures, limit: settings.worker.drainTimeout,
                reload: reload.apply))
        totals.log()
    }

    /// Reads and checks the key files here, so that a wrong one ends the process at start and not at the first push.
    static func configuration(
        _ app: AppSettings, _ settings: Settings, _ keys: APNsKeyRing? = nil
    ) throws -> APNsConfiguration {
        _ = try app.required(.bundleID)
        var configuration = APNsConfiguration(
            origin: app.apnsOrigin, keys: try keys ?? APNsKeyRing(ProviderKeyFile.keys(of: app).first),
            caFile: app[.caFile], lanes: settings.apns.lanes, requestTimeout: settings.apns.requestTimeout)
        configuration.app = app.key.rawValue
        return configuration
    }
}
