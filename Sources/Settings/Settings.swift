import LiveActivity
public import Redis

/// All checked settings of a process. `Settings.load` sets every field; the defaults are in `SettingKey.all`.
public struct Settings: Sendable {
    public struct Gateway: Sendable, Hashable {
        public var host = ""
        public var port = 0
        /// The address at which commands find the gateway: `http://host:port`, without a slash at its end.
        public var url = ""
        /// The address at which devices find the gateway, without a slash at its end. If nil, devices are not told.
        public var publicURL: String?
        /// The most bytes of a request body.
        public var maximumBody = 0
        /// The most requests that run at once: those of publishers, those with the app secret, and those of devices.
        /// Nil means half of the first.
        public var maximumConcurrency = 0
        public var maximumConcurrencyApp: Int?
        public var maximumConcurrencyDevice: Int?
        /// The most bytes of request bodies in memory, for each of these three.
        public var maximumBodyMemory = 0
        public var maximumConnections = 0
        /// 0 means no limit.
        public var maximumConnectionsPerAddress = 0
        /// The most entries of one app's queues, and of all apps' queues together.
        public var maximumQueue = 0
        public var maximumQueueTotal = 0
    }

    public struct Worker: Sendable, Hashable {
        public enum Transport: String, Sendable, Hashable, CaseIterable {
            case libcurl, nghttp2
        }

        public var transport = Transport.libcurl
        public var lanes = 0
        public var streams = 0
        public var page = 0
        public var concurrency = 0
        public var claimAfter = Duration.zero
        /// How many workers in a row may crash or stall at a task without progress before the task is given up.
        public var maxClaims = 0
        /// The most attempts for one token. 0 means no limit until the push expires.
        public var maxAttempts = 0
        public var drainTimeout = Duration.zero
        public var requestTimeout = Duration.zero
        /// Nil means host name and process id.
        public var name: String?
        /// The address of health and metrics, used if a port is set.
        public var host = ""
        public var port: Int?
    }

    /// The limits at which the prune guard stops believing APNs about dead tokens.
    public struct Guard: Sendable, Hashable {
        public var share = 0.0
        public var answers = 0
        public var window = Duration.zero
        public var memory = Duration.zero
    }

    /// The most of each kind that one app may have. 0 means no limit.
    public struct Quotas: Sendable, Hashable {
        public var names = 0
        public var channels = 0
        public var followers = 0
        public var startTokens = 0
    }

    /// Updates per name and hour at priority 10. 0 means no limit.
    public struct Budget: Sendable, Hashable {
        public var highPerHour = 0
        public var highPerHourInfrequent = 0
    }

    /// The time for which pushes without an expiry are tried, by event.
    public struct Lives: Sendable, Hashable {
        public var start = Duration.zero
        public var update = Duration.zero
        public var end = Duration.zero
    }

    public struct Log: Sendable, Hashable {
        public var level = ""
        public var isJSON = false
    }

    public var redisURL = RedisURL()
    /// Empty unless the URL asks for TLS.
    public var redisTLS = RedisTLSFiles()
    public var redisConnections = 0
    public var redisPrefix = ""
    /// The replicas that must have a publish before it is accepted, and the longest wait for them.
    public var waitReplicas = 0
    public var waitTimeout = Duration.zero
    public var gateway = Gateway()
    public var worker = Worker()
    /// The most tags of one channel.
    public var tagsPerChannel = 0
    public var quotas = Quotas()
    public var pruneGuard = Guard()
    public var budget = Budget()
    /// For apps that do not set `defaults.stale_after`. Zero means no stale date.
    public var staleAfter = Duration.zero
    /// For apps that do not set `defaults.end_after`. Zero means that cards are not ended automatically.
    public var endAfter = Duration.zero
    /// For apps that do not set `defaults.catch_up`.
    public var catchUp = false
    /// For apps that do not set `defaults.expiry_start`, `expiry_update` or `expiry_end`.
    public var lives = Lives()
    /// The least time between two updates of a name that are without an alert and may be
    /// superseded. 0 turns pacing off.
    public var pacingMinInterval = Duration.zero
    /// The time from a name's end to the deletion of its broadcast channel.
    public var broadcastDeleteAfter = Duration.zero
    /// A start token counts as stale if its last report is older than this.
    public var startTokensStaleAfter = Duration.zero
    /// 0 means never.
    public var channelsExpireAfter = Duration.zero
    public var log = Log()
    public var apps: [AppSettings] = []
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
    public func staleAfter(_ app: AppSettings) -> Duration? {
        time(app[.staleAfter], or: staleAfter)
    }

    /// The age at which an app's cards are ended automatically. Nil means never.
    public func endAfter(_ app: AppSettings) -> Duration? { time(app[.endAfter], or: endAfter) }

    private func time(_ own: String?, or common: Duration) -> Duration? {
        let own = own.flatMap { TimeText.duration($0) }.map { Duration.milliseconds(Int64($0 * 1_000)) }
        let time = own ?? common
        return time >= .seconds(1) ? time : nil
    }

    /// The time for which an app's pushes without an expiry are tried.
    public func lives(_ app: AppSettings) -> Lives {
        Lives(
            start: time(app[.expiryStart], or: lives.start) ?? lives.start,
            update: time(app[.expiryUpdate], or: lives.update) ?? lives.update,
            end: time(app[.expiryEnd], or: lives.end) ?? lives.end)
    }

    /// Whether a device that begins to follow gets the state published before, if its registration does not say.
    public func catchUp(_ app: AppSettings) -> Bool { app[.catchUp].map { $0 == "true" } ?? catchUp }

    /// The app for a command: the named one, or the only one.
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
