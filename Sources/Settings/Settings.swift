public import Fanout
public import HTTPAPI
public import Lanes
public import LiveActivity
public import Redis
public import Spans
public import Store

/// All checked settings of a process. `Settings.load` sets every field; the defaults are in `SettingKey.all`.
public struct Settings: Sendable {
    /// The connections to APNs, for each app.
    public struct APNs: Sendable, Hashable {
        public var transport = TransportKind.nghttp2
        public var lanes = 0
        public var requestTimeout = Duration.zero
    }

    /// PEM files for TLS on the gateway.
    public struct GatewayTLSFiles: Sendable, Hashable {
        public var certificate: String?
        public var key: String?
        /// Roots for commands, in place of the system's.
        public var roots: String?
    }

    public struct Log: Sendable, Hashable {
        public var level = ""
        public var format = Format.text

        public enum Format: Sendable, Hashable { case text, json, ecs }
    }

    public var redisURL = RedisURL()
    /// Empty unless the URL asks for TLS.
    public var redisTLS = RedisTLSFiles()
    public var redisConnections = 0
    public var redisPrefix = ""
    /// The replicas that must have a publish before it is accepted, and the longest wait for them.
    public var waitReplicas = 0
    public var waitTimeout = Duration.zero
    /// The gateway's configuration. Its apps are in `apps`.
    public var gateway = GatewayConfiguration(apps: [])
    public var gatewayTLS = GatewayTLSFiles()
    /// The address at which commands find the gateway: `http://host:port`, without a slash at its end.
    public var gatewayURL = ""
    public var worker = WorkerOptions()
    /// The worker's name in the fleet. Nil: host name, process id, and the namespace of process ids in a container.
    public var workerName: String?
    /// The apps that a worker serves. Nil: all apps.
    public var workerApps: WorkerApps?
    /// The address of a worker's health and metrics, used if a port is set.
    public var monitorHost = ""
    public var monitorPort: Int?
    /// The address of a gateway's health and metrics. Without a port they are at the gateway's own.
    public var gatewayMonitorHost = ""
    public var gatewayMonitorPort: Int?
    /// The secret of `/readyz` and `/metrics`. Nil: none.
    public var monitorSecret: String?
    public var apns = APNs()
    public var quotas: [Quota: Int] = [:]
    /// For apps that do not set `defaults.stale_after`. Zero means no stale date.
    public var staleAfter = Duration.zero
    /// Tokens a second, for apps that do not set their own. 0 means no limit.
    public var maximumPerSecond = 0
    public var maximumPerSecondOfPush = 0
    /// For apps that do not set `defaults.end_after`. Zero means that cards are not ended automatically.
    public var endAfter = Duration.zero
    /// For apps that do not set `defaults.catch_up`.
    public var catchUp = false
    /// For apps that do not set `defaults.receipts`.
    public var receipts = false
    /// For apps that do not set `defaults.respect_dismissal`.
    public var respectDismissal = false
    /// For apps that do not set `defaults.device_tags` or `defaults.device_users`.
    public var deviceTags = true
    public var deviceUsers = true
    /// For apps that do not set `defaults.expiry_start`, `expiry_update` or `expiry_end`.
    public var lives: [ActivityEvent: Duration] = [:]
    /// About how many outgoing events the stream of an app keeps. 0: apps have no stream.
    public var eventsKept = 0
    public var pushesExpireAfter = Duration.zero
    /// How much of the logs of actions is kept.
    public var actions = ActionPolicy()
    /// 0 means never.
    public var channelsExpireAfter = Duration.zero
    public var log = Log()
    /// The collector of traces. Nil: there are none.
    public var tracesEndpoint: String?
    public var tracesShare = 0.0
    public var tracesHeaders: [SpanExporter.Options.Header] = []
    public var tracesCAFile: String?
    public var apps: [AppSettings] = []
    /// The settings of features. Each feature extends `Settings` by a property that reads its own here.
    public var extras = Extras()
    /// The value of each setting as it was written, by its path. It holds secrets: compare it, never show it.
    var texts: [String: String] = [:]
    /// From where each of them came.
    var origins: [String: SettingOrigin] = [:]
    /// The problem with the variable PORT. Only a gateway listens there, so nothing else ends because of it.
    public internal(set) var portProblem: SettingsError?
    /// Whether the port is from the variable PORT, which hosting services set.
    public internal(set) var hasCommonPort = false
    /// Settings that were ignored, and why. A process logs them once at start.
    public var warnings: [String] = []
    /// The file that was read. Nil if there was none.
    public var file: String?

    /// The apps. If there is none, it throws an error that says how to configure one.
    public func requiredApps() throws(SettingsError) -> [AppSettings] {
        if !apps.isEmpty { return apps }
        throw .missing(
            key: "apps",
            remedy: "list an app under 'apps:' in the configuration file, or set "
                + "\(AppField.key.environmentName), \(AppField.secret.environmentName), "
                + "\(AppField.masterSecret.environmentName) and \(AppField.bundleID.environmentName)")
    }

    /// How long an app's updates without a `stale_date` are fresh. Nil means for ever.
    public func staleAfter(_ app: AppSettings) -> Duration? { time(app[.staleAfter], or: staleAfter) }
    /// The age at which an app's cards are ended automatically. Nil means never.
    public func endAfter(_ app: AppSettings) -> Duration? { time(app[.endAfter], or: endAfter) }

    /// The cap of an app's delivery rate. Nil means that there is none.
    public func deliveryRate(_ app: AppSettings) -> DeliveryRate? {
        DeliveryRate(
            ofApp: app[.maximumPerSecond].flatMap { Int($0) } ?? maximumPerSecond,
            ofPush: app[.maximumPerSecondOfPush].flatMap { Int($0) } ?? maximumPerSecondOfPush)
    }

    /// These settings with the apps that this worker serves, and no others.
    public func ofWorker() throws(SettingsError) -> Settings {
        let all = try requiredApps()
        guard let workerApps else { return self }
        let known = all.map(\.key.rawValue)
        if let unknown = workerApps.keys.first(where: { !known.contains($0) }) {
            let reason = "there is no app '\(unknown)'; the apps are \(known.joined(separator: ", "))"
            throw .unusable(key: "worker.apps", reason: reason)
        }
        var settings = self
        settings.apps = all.filter { workerApps.serves($0.key.rawValue) }
        if settings.apps.isEmpty { throw .unusable(key: "worker.apps", reason: "it leaves no app for this worker") }
        return settings
    }

    /// The collector of traces with its options. Nil: there are no traces.
    public var traces: SpanExporter.Options? {
        tracesEndpoint.map {
            SpanExporter.Options(endpoint: $0, share: tracesShare, headers: tracesHeaders, caFile: tracesCAFile)
        }
    }

    private func time(_ own: String?, or common: Duration) -> Duration? {
        let own = own.flatMap { TimeText.duration($0) }.map { Duration.milliseconds(Int64($0 * 1_000)) }
        let time = own ?? common
        return time >= .seconds(1) ? time : nil
    }

    /// The time for which an app's pushes without an expiry are tried, by event.
    public func lives(_ app: AppSettings) -> [ActivityEvent: Duration] {
        let own: [ActivityEvent: AppField] = [.start: .expiryStart, .update: .expiryUpdate, .end: .expiryEnd]
        return lives.reduce(into: [:]) { $0[$1.key] = time(own[$1.key].flatMap { app[$0] }, or: $1.value) ?? $1.value }
    }

    /// The apps' outgoing events, for `Store`.
    public var eventPolicies: [AppKey: EventPolicy] {
        Dictionary(
            uniqueKeysWithValues: apps.map { app in
                let queued = EventTaker.ofFeatures.reduce(into: Set()) { $0.formUnion($1.kinds(app)) }
                return (app.key, EventPolicy(keep: eventsKept, queued: queued))
            })
    }

    /// Whether a device that begins to follow gets the state published before, if its registration does not say.
    public func catchUp(_ app: AppSettings) -> Bool { app.flag(.catchUp) ?? catchUp }
    /// Whether an app's pushes carry a mark, and its devices may send receipts.
    public func receipts(_ app: AppSettings) -> Bool { app.flag(.receipts) ?? receipts }

    /// Whether an app's starts leave out channels whose user dismissed the name's card.
    public func respectDismissal(_ app: AppSettings) -> Bool { app.flag(.respectDismissal) ?? respectDismissal }

    /// Whether an app's devices may set the tags of their channels, and say whose they are.
    public func deviceTags(_ app: AppSettings) -> Bool { app.flag(.deviceTags) ?? deviceTags }
    public func deviceUsers(_ app: AppSettings) -> Bool { app.flag(.deviceUsers) ?? deviceUsers }

    /// The named apps for a command. No name: all apps.
    public func apps(named keys: [String]) throws(SettingsError) -> [AppSettings] {
        if keys.isEmpty { return try requiredApps() }
        return try keys.map { (key) throws(SettingsError) in try app(named: key) }
    }

    /// The app for a command: the named one, or the only one.
    public func app(named key: String?) throws(SettingsError) -> AppSettings {
        let apps = try requiredApps()
        let known = apps.map(\.key.rawValue).joined(separator: ", ")
        guard let key else {
            if apps.count == 1 { return apps[0] }
            throw .missing(key: "--app", remedy: "name one of \(known)")
        }
        if let app = apps.first(where: { $0.key.rawValue == key }) { return app }
        throw .invalid(key: "app", .flag("app"), found: key, expected: "one of \(known)")
    }
}

/// The placement of apps on workers (`worker.apps`): only some apps, or all but some.
public struct WorkerApps: Sendable, Hashable {
    public let keys: [String]
    public let leavesOut: Bool

    /// Reads `shop,news` or `-shop,-news`. Nil if it is neither.
    init?(_ text: String) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        leavesOut = words.allSatisfy { $0.hasPrefix("-") }
        guard leavesOut || !words.contains(where: { $0.hasPrefix("-") }) else { return nil }
        keys = leavesOut ? words.map { String($0.dropFirst()) } : words
        guard !keys.contains("") else { return nil }
    }

    func serves(_ app: String) -> Bool { keys.contains(app) != leavesOut }
}

/// A feature that takes events out of the queues of apps. An app has one queue, so one feature takes its events.
struct EventTaker: Sendable {
    /// The events that it takes of an app. Empty: none.
    let kinds: @Sendable (AppSettings) -> Set<OutgoingEvent.Kind>
}
