import LiveActivity
public import Redis

/// Everything a process of this deployment is told, checked. Made by `Settings.load`.
public struct Settings: Sendable {
    public struct Gateway: Sendable, Hashable {
        public var host: String
        public var port: Int
        /// Where commands find it: `http://host:port`, no slash at the end.
        public var url: String
        /// Where devices find it, no slash at the end; nil: nobody is told.
        public var publicURL: String?
        /// Bytes.
        public var maximumBody: Int
        /// Requests in work, of publishers, with the app secret (nil: half as many) and from devices (the same).
        public var maximumConcurrency: Int
        public var maximumConcurrencyApp: Int?
        public var maximumConcurrencyDevice: Int?
        /// Bytes, of each of these.
        public var maximumBodyMemory: Int
        public var maximumConnections: Int
        /// 0 = any number.
        public var maximumConnectionsPerAddress: Int
        /// Entries of one app's queues, and of all apps' together.
        public var maximumQueue: Int
        public var maximumQueueTotal: Int
    }

    public struct Worker: Sendable, Hashable {
        public enum Transport: String, Sendable, Hashable, CaseIterable {
            case libcurl, nghttp2
        }

        public var transport: Transport
        public var lanes: Int
        public var streams: Int
        public var page: Int
        public var concurrency: Int
        public var claimAfter: Duration
        /// Workers that may die or sleep over a task in a row, without progress, before it is given up.
        public var maxClaims: Int
        /// Of one token; 0 = until the push expires.
        public var maxAttempts: Int
        public var drainTimeout: Duration
        public var requestTimeout: Duration
        /// Nil: host name and process id.
        public var name: String?
        /// Where health and metrics are served, if a port is given.
        public var host: String
        public var port: Int?
    }

    /// When APNs's word on dead tokens is not believed.
    public struct Guard: Sendable, Hashable {
        public var share: Double
        public var answers: Int
        public var window: Duration
        public var memory: Duration
    }

    /// Updates of a name an hour at priority 10; 0 = any number.
    public struct Budget: Sendable, Hashable {
        public var highPerHour: Int
        public var highPerHourInfrequent: Int
    }

    /// How long pushes without an expiry are tried, by event.
    public struct Lives: Sendable, Hashable {
        public var start: Duration
        public var update: Duration
        public var end: Duration
    }

    public struct Log: Sendable, Hashable {
        public var level: String
        public var isJSON: Bool
    }

    public var redisURL: RedisURL
    /// Empty unless the URL asks for TLS.
    public var redisTLS: RedisTLSFiles
    public var redisConnections: Int
    public var redisPrefix: String
    /// Replicas that must have a publish before it counts as accepted, and how long they may take.
    public var waitReplicas: Int
    public var waitTimeout: Duration
    public var gateway: Gateway
    public var worker: Worker
    /// Tags that one channel may have.
    public var tagsPerChannel: Int
    public var pruneGuard: Guard
    public var budget: Budget
    /// For apps that have no `defaults.stale_after` of their own; zero: none.
    public var staleAfter: Duration
    /// The same with `defaults.end_after`.
    public var endAfter: Duration
    /// The same with `defaults.catch_up`.
    public var catchUp: Bool
    /// The same with `defaults.expiry_start`, `expiry_update` and `expiry_end`.
    public var lives: Lives
    /// Least time between two alert-free updates of a name that newer ones may replace; 0 = off.
    public var pacingMinInterval: Duration
    /// From a name's end to the deletion of its broadcast channel.
    public var broadcastDeleteAfter: Duration
    /// A start token that was last reported longer ago counts as stale.
    public var startTokensStaleAfter: Duration
    /// 0 = never.
    public var channelsExpireAfter: Duration
    public var log: Log
    public var apps: [AppSettings]
    /// What was ignored and why; to be logged once at start.
    public var warnings: [String]
    /// The file that was read, nil if none.
    public var file: String?

    /// At least one app, or an error that says how to configure one.
    public func requiredApps() throws(SettingsError) -> [AppSettings] {
        if !apps.isEmpty { return apps }
        throw .missing(
            key: "apps",
            remedy: "list an app under 'apps:' in the configuration file, or set "
                + "\(AppField.key.environmentName), \(AppField.secret.environmentName), "
                + "\(AppField.masterSecret.environmentName) and \(AppField.bundleID.environmentName)")
    }

    /// How long an app's updates that give no `stale_date` are fresh; nil: for ever.
    public func staleAfter(_ app: AppSettings) -> Duration? {
        time(app[.staleAfter], or: staleAfter)
    }

    /// How long after their start an app's cards are ended; nil: never.
    public func endAfter(_ app: AppSettings) -> Duration? { time(app[.endAfter], or: endAfter) }

    private func time(_ own: String?, or common: Duration) -> Duration? {
        let own = own.flatMap(SettingText.seconds).map { Duration.milliseconds(Int64($0 * 1_000)) }
        let time = own ?? common
        return time >= .seconds(1) ? time : nil
    }

    /// How long an app's pushes without an expiry are tried.
    public func lives(_ app: AppSettings) -> Lives {
        Lives(
            start: time(app[.expiryStart], or: lives.start) ?? lives.start,
            update: time(app[.expiryUpdate], or: lives.update) ?? lives.update,
            end: time(app[.expiryEnd], or: lives.end) ?? lives.end)
    }

    /// Whether an app's devices get the state published before when they begin to follow, if they do not say.
    public func catchUp(_ app: AppSettings) -> Bool { app[.catchUp].map { $0 == "true" } ?? catchUp }

    /// The app a command speaks for: the one named, or the only one.
    public func app(named key: String?) throws(SettingsError) -> AppSettings {
        let apps = try requiredApps()
        guard let key else {
            if apps.count == 1 { return apps[0] }
            throw .missing(key: "--app", remedy: "name one of \(apps.map(\.key.rawValue).joined(separator: ", "))")
        }
        if let app = apps.first(where: { $0.key.rawValue == key }) { return app }
        throw .invalid(
            key: "app", .flag("app"), found: key,
            expected: "one of \(apps.map(\.key.rawValue).joined(separator: ", "))")
    }
}
