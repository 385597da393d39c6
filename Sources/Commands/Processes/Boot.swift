import Fanout
import FoundationEssentials
import Glibc
import HTTPAPI
import LiveActivity
import Logging
import Metrics
import PrometheusText
import Redis
import ServiceLifecycle
import Settings
import Spans
import Store

/// The start, the run and the end of a gateway or a worker, in one order for both. The command says only what is its
/// own: after `init` it reads and checks its files, after `connect` it makes its service, and `run` runs that.
struct Boot {
    /// The parts of a process that its command gives.
    struct Process {
        /// Names the process in the answers to `lamplighter reload`.
        var name: String
        /// Names the process in alarms, such as `worker eu-1`.
        var title: String
        var apps: [AppKey]
        /// Names a worker among those that work for its apps. Nil: it is a gateway.
        var consumer: String?
        var service: any Service
        /// Where the service itself listens. Nil: it opens no port.
        var listening: ServiceRun.Listening?
        /// A second server with its health and metrics.
        var monitor: ServiceRun.Listening?
        /// Services that run beside it.
        var beside: [any Service] = []
        /// The longest time from the first signal to the end.
        var limit: Duration
        /// Reads the files that the settings name, then uses them and the settings.
        var reload: @Sendable (Settings) throws -> Void
        /// Told when other secrets or credentials of apps are in use. A worker uses none.
        var accessChanged: @Sendable ([AppKey]) async -> Void = { _ in }
    }

    let kind: SettingsChange.Process
    let settings: Settings
    let logger: Logger
    let registry: PrometheusRegistry
    let store: Store
    /// Sends spans to the collector of traces. Nil: there are no traces.
    let spans: SpanExporter?
    /// The name of this machine.
    let machine = ProcessInfo.processInfo.hostName
    /// Names the process in the fleet.
    let name: String

    private let load: @Sendable () throws -> Settings
    private let files: @Sendable (Settings) -> [String]
    private let watched: WatchedFiles
    private let hangUps: HangUps

    /// Reads the settings, and waits for nothing. Metrics are set up here, because whatever counts gets its counters
    /// from there when it is made.
    /// - Parameters:
    ///   - flags: settings of the command line
    ///   - files: the files whose change alone is a reason to read them again
    init(
        _ kind: SettingsChange.Process, _ global: GlobalOptions, _ flags: [SettingFlag?],
        files: @escaping @Sendable (Settings) -> [String]
    ) throws {
        CoreFiles.switchOff()
        hangUps = HangUps()
        let read = global.reloader(flags)
        // A worker may serve some of the apps only.
        let own: @Sendable (Settings) throws -> Settings = { kind == .worker ? try $0.ofWorker() : $0 }
        load = { try own(try read()) }
        self.kind = kind
        self.files = files
        settings = try own(try global.settings(flags))
        logger = global.logger(kind.rawValue, settings)
        StartWarning.log(settings, isGateway: kind == .gateway, to: logger)
        // Before the files are read, so that a change since then is seen.
        watched = WatchedFiles(files(settings))
        registry = PrometheusRegistry(
            bounds: Dictionary(
                uniqueKeysWithValues: WorkerMetricName.longTimers.map { ($0, PrometheusRegistry.longBuckets) }),
            help: MetricHelp.texts)
        MetricsSystem.bootstrap(registry)
        store = Store(
            settings,
            redis: RedisInspection.client(
                settings, needsPrimary: true, sharesTurns: kind == .gateway, logger: logger),
            answersPublishers: kind == .gateway)
        let unnamed = ProcessName.own(on: machine)
        name = kind == .worker ? settings.workerName ?? unnamed : unnamed
        spans = settings.traces.map { [name, logger] in
            SpanExporter($0, kind: kind.rawValue, instance: name, version: Release.version, logger: logger)
        }
    }

    /// Waits for Redis, and throws if it is not one with which the process can work.
    func connect() async throws {
        // A second site waits for weeks. Its process is as ready as it can be.
        let manager = ServiceManager(ProcessInfo.processInfo.environment)
        try await RedisInspection.await(
            store.redis, settings, waits: { manager?.tell(ServiceManager.ready) }, logger: logger)
        try await RedisInspection.judge(store, settings, publishes: kind == .gateway, logger: logger)
        try await store.claimFormat()
    }

    /// Runs the service until a signal or an error ends it.
    func run(_ process: Process) async throws {
        defer { withExtendedLifetime(hangUps) {} }
        let reloading = Reloading(
            process: kind, load: load, apply: process.reload, files: files, accessChanged: process.accessChanged,
            watched: watched, hangUps: hangUps.signals,
            requests: store.reloads, name: process.name, started: settings, logger: logger)
        let (apps, title) = (process.apps, process.title)
        let watches: [any Service] = [
            FormatWatch(store: store, apps: apps, process: title, logger: logger),
            ClockWatch(store: store, apps: apps, process: title, logger: logger),
            RightsWatch(registry: registry, store: store, apps: apps, process: title, logger: logger),
        ]
        let ports = [process.monitor, process.listening].compactMap { $0?.service }
        let notice = ServiceManager(ProcessInfo.processInfo.environment).map { [store] manager in
            ReadyNotice(manager: manager) {
                for port in ports {
                    guard await port.boundPort() != nil else { return false }
                }
                return try await Self.isListed(process.name, process.consumer, apps, store)
            }
        }
        // The services stop in reverse order, so that the monitor still answers while requests end and pages drain.
        let monitor = [process.monitor].compactMap { $0?.service as (any Service)? }
        try await ServiceRun.run(
            monitor + [spans].compactMap(\.self) + process.beside + watches + [reloading, process.service]
                + [notice].compactMap(\.self),
            listening: [process.monitor, process.listening].compactMap(\.self), within: process.limit, logger: logger)
        await store.redis.close()
    }
}

extension Boot {
    /// Whether others see the process in Redis.
    private static func isListed(
        _ name: String, _ consumer: String?, _ apps: [AppKey], _ store: Store
    ) async throws -> Bool {
        guard try await store.reloads.processes().contains(where: { $0.name == name }) else { return false }
        guard let consumer else { return true }
        for app in apps {
            let isAtWork = try await store.workers([app]).contains { $0.isAtWork && $0.name == consumer }
            if !isAtWork { return false }
        }
        return true
    }
}

/// Files that the kernel writes of a process that crashed. A core file of `serve` or `work` would hold secrets and
/// tokens.
enum CoreFiles {
    /// Lets the kernel write none. The hard limit stays, so `prlimit --core=unlimited --pid` still asks for one.
    /// PR_SET_DUMPABLE would do the same, but Swift's backtrace of a crash could not read the process then.
    static func switchOff() {
        let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = 0
        setrlimit(resource, &limit)
    }
}

/// Catches SIGHUP from the start of a process on. Its default action would end a process that still waits for Redis. A
/// signal that comes before somebody listens is kept.
final class HangUps {
    let signals: AsyncStream<Void>

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        signals = stream
        Signals.listen(to: SIGHUP) { continuation.yield() }
    }

    deinit { Signals.ignore(SIGHUP) }
}
