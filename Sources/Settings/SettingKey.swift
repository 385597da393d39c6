/// One setting.
///
/// Only the table below knows the settings. The key in the file is `path`, and the names in the environment and on the
/// command line are derived from it. Checks, `--help` and warnings read the same rows.
public struct SettingKey: Sendable, Hashable {
    /// The form of a value. Texts are parsed and ranges are checked when the settings are loaded.
    public enum Form: Sendable, Hashable {
        case text
        case whole(ClosedRange<Int>)
        /// Bytes, with or without a suffix: `65536`, `64K`, `1M`.
        case size(ClosedRange<Int>)
        /// Seconds, or a number with a unit: `10`, `10s`, `500ms`, `2m`.
        case seconds(ClosedRange<Double>)
        case choice([String])
        /// A fraction, such as 0.5.
        case share(ClosedRange<Double>)
    }

    /// `section.key_in_snake_case`.
    public let path: String
    public let form: Form
    /// The default, as written in the file. Nil means unset.
    public let defaultText: String?
    public let summary: String

    init(_ path: String, _ form: Form, _ defaultText: String?, _ summary: String) {
        self.path = path
        self.form = form
        self.defaultText = defaultText
        self.summary = summary
    }

    /// `a.b_c` is `LAMPLIGHTER_A_B_C`.
    public var environmentName: String {
        "LAMPLIGHTER_" + path.uppercased().map { $0 == "." ? "_" : String($0) }.joined()
    }

    /// `a.b_c` is `--a-b-c`. The name here has no dashes before it.
    public var flagName: String { path.map { $0 == "." || $0 == "_" ? "-" : String($0) }.joined() }
}

extension SettingKey {
    public static let redisURL = SettingKey(
        "redis.url", .text, "redis://127.0.0.1:6379/0",
        "Redis: redis://[user:password@]host:port/db, unix:///path, redis+sentinel://host:port,…/name/db or "
            + "redis+cluster://host:port,…; rediss with TLS"
    )
    public static let redisCAFile = SettingKey(
        "redis.ca_file", .text, nil, "PEM roots for Redis with TLS; default: those of the system")
    public static let redisCertFile = SettingKey(
        "redis.cert_file", .text, nil, "PEM certificate of this client, for a Redis that asks for one")
    public static let redisKeyFile = SettingKey(
        "redis.key_file", .text, nil, "PEM private key of redis.cert_file")
    public static let redisConnections = SettingKey(
        "redis.connections", .whole(1...64), "2", "connections to Redis, one thread each")
    public static let redisPrefix = SettingKey(
        "redis.prefix", .text, "ll", "first part of every key, so that deployments can share a Redis")
    public static let redisWaitReplicas = SettingKey(
        "redis.wait_replicas", .whole(0...16), "0", "replicas that must have a publish before its 202")
    public static let redisWaitTimeout = SettingKey(
        "redis.wait_timeout", .seconds(0.01...10), "1s", "how long those replicas may take; then the answer is 503")

    public static let gatewayHost = SettingKey(
        "gateway.host", .text, "127.0.0.1", "address to listen on; 0.0.0.0 for all")
    public static let gatewayPort = SettingKey(
        "gateway.port", .whole(0...65_535), "8080", "port to listen on; 0 picks a free one; PORT is read too")
    public static let gatewayURL = SettingKey(
        "gateway.url", .text, nil, "where commands find the gateway; default: gateway.host and gateway.port")
    public static let gatewayPublicURL = SettingKey(
        "gateway.public_url", .text, nil,
        "address at which devices reach the gateway; Airship's SDK is told it as its remote config")
    public static let gatewayMaxBody = SettingKey(
        "gateway.max_body", .size(4_096...(64 << 20)), "1M", "largest request body, bulk imports excepted")
    public static let gatewayMaxConcurrency = SettingKey(
        "gateway.max_concurrency", .whole(1...100_000), "512",
        "requests of publishers in work at once; more are answered 503")
    public static let gatewayMaxConcurrencyApp = SettingKey(
        "gateway.max_concurrency_app", .whole(1...100_000), nil,
        "the same with the app secret; default: half of gateway.max_concurrency")
    public static let gatewayMaxConcurrencyDevice = SettingKey(
        "gateway.max_concurrency_device", .whole(1...100_000), nil,
        "the same from devices; default: half of gateway.max_concurrency")
    public static let gatewayMaxBodyMemory = SettingKey(
        "gateway.max_body_memory", .size((1 << 20)...(64 << 30)), "64M",
        "request bodies in memory at once, of publishers, with the app secret, and from devices, each")
    public static let gatewayMaxConnections = SettingKey(
        "gateway.max_connections", .whole(16...1_000_000), "4096", "open connections; more wait until others are closed"
    )
    public static let gatewayMaxConnectionsPerAddress = SettingKey(
        "gateway.max_connections_per_address", .whole(0...1_000_000), "1024",
        "those of one IPv4 address or IPv6 network (/64); more are closed at once; 0 = any number")
    public static let gatewayMaxQueue = SettingKey(
        "gateway.max_queue", .whole(1...100_000_000), "100000",
        "names and shards of one app that wait or are in hand; past it publishes are answered 429")
    public static let gatewayMaxQueueTotal = SettingKey(
        "gateway.max_queue_total", .whole(1...100_000_000), "500000", "the same for all apps together")

    public static let limitsTagsPerChannel = SettingKey(
        "limits.tags_per_channel", .whole(1...1_000), "1000", "tags that one channel may have")
    private static let quota = Form.whole(0...1_000_000_000_000)
    public static let limitsNames = SettingKey(
        "limits.names", quota, "1000000",
        "names of one app that are followed; past it new ones are answered 429; 0 = any number")
    public static let limitsChannels = SettingKey(
        "limits.channels", quota, "10000000", "the same of channels, estimated")
    public static let limitsFollowers = SettingKey(
        "limits.followers", quota, "50000000",
        "the same of channels that follow a name, for all names together, estimated")
    public static let limitsStartTokens = SettingKey(
        "limits.start_tokens", quota, "50000000",
        "the same of push-to-start tokens, for all types together, estimated")

    public static let workerTransport = SettingKey(
        "worker.transport", .choice(["libcurl", "nghttp2"]), "libcurl", "what sends to APNs: libcurl or nghttp2")
    public static let workerLanes = SettingKey(
        "worker.lanes", .whole(1...64), "2", "sending threads for each app, one HTTP/2 connection each")
    public static let workerStreams = SettingKey(
        "worker.streams", .whole(1...5_000), "1000", "requests in flight on one connection, if APNs allows as many")
    public static let workerPage = SettingKey(
        "worker.page", .whole(1...5_000), "1000", "tokens read, sent and settled at a time")
    public static let workerConcurrency = SettingKey(
        "worker.concurrency", .whole(1...1_024), "48", "small pushes in hand at once")
    public static let workerClaimAfter = SettingKey(
        "worker.claim_after", .seconds(1...3_600), "10s", "after this long a silent worker's tasks go to others")
    public static let workerMaxClaims = SettingKey(
        "worker.max_claims", .whole(1...1_000), "8",
        "workers that may die or sleep over a task in a row before it is given up (PoisonTask)")
    public static let workerMaxAttempts = SettingKey(
        "worker.max_attempts", .whole(0...10_000), "0",
        "attempts of one token before it becomes a dead letter; 0 = until the push expires")
    public static let workerDrainTimeout = SettingKey(
        "worker.drain_timeout", .seconds(1...3_600), "25s", "how long SIGTERM waits for pages in flight")
    public static let workerRequestTimeout = SettingKey(
        "worker.request_timeout", .seconds(0.1...300), "10s", "deadline of one request to APNs")
    public static let workerName = SettingKey(
        "worker.name", .text, nil, "name in status and logs, unique in the fleet; default: host name and process id")
    public static let workerHost = SettingKey(
        "worker.host", .text, "127.0.0.1", "address that worker.port is opened on; 0.0.0.0 for all")
    public static let workerPort = SettingKey(
        "worker.port", .whole(0...65_535), nil,
        "port for /healthz, /readyz and /metrics of a worker; 0 picks a free one; default: none is opened")

    public static let guardShare = SettingKey(
        "guard.share", .share(0.01...1), "0.5",
        "share of wrong tokens (400) from which on they are quarantined, not pruned")
    public static let guardAnswers = SettingKey(
        "guard.answers", .whole(1...1_000_000), "200", "answers, of a push or of an app, below which no share counts")
    public static let guardWindow = SettingKey(
        "guard.window", .seconds(60...7_200), "10m", "time over which an app's answers are counted, in whole minutes")

    public static let guardMemory = SettingKey(
        "guard.memory", .seconds(60...604_800), "24h",
        "time over which an app's last answers are counted where guard.window holds fewer than guard.answers")

    public static let defaultsStaleAfter = SettingKey(
        "defaults.stale_after", .seconds(0...28_800), "0",
        "time to the stale_date of updates that give none; 0 = none; an app may have its own")

    public static let defaultsEndAfter = SettingKey(
        "defaults.end_after", .seconds(0...28_800), "0",
        "time from a card's start to its automatic end; 0 = none; an app may have its own")

    public static let defaultsCatchUp = SettingKey(
        "defaults.catch_up", .choice(["false", "true"]), "false",
        "whether a device that begins to follow gets the state published before at once; an app may have its own")

    public static let defaultsExpiryStart = SettingKey(
        "defaults.expiry_start", .seconds(1...86_400), "1h",
        "how long a start without options.expiry is tried, from its acceptance; an app may have its own")
    public static let defaultsExpiryUpdate = SettingKey(
        "defaults.expiry_update", .seconds(1...86_400), "8h", "the same of an update")
    public static let defaultsExpiryEnd = SettingKey(
        "defaults.expiry_end", .seconds(1...86_400), "8h", "the same of an end")

    public static let budgetHighPerHour = SettingKey(
        "budget.high_per_hour", .whole(0...100_000), "0",
        "updates of a name an hour at priority 10; more without an alert go at 5; 0 = any number")
    public static let budgetHighPerHourInfrequent = SettingKey(
        "budget.high_per_hour_infrequent", .whole(0...100_000), "0",
        "the same for devices whose user switched frequent updates off")

    public static let pacingMinInterval = SettingKey(
        "pacing.min_interval", .seconds(0...3_600), "1", "least time between alert-free updates of a name; 0 = off")

    public static let startTokensStaleAfter = SettingKey(
        "start_tokens.stale_after", .seconds(60...31_536_000), "48h",
        "start tokens last reported longer ago count as stale")

    public static let broadcastDeleteAfter = SettingKey(
        "broadcast.delete_after", .seconds(0...604_800), "1h",
        "time from a name's end to the deletion of its broadcast channel")

    public static let channelsExpireAfter = SettingKey(
        "channels.expire_after", .seconds(0...315_360_000), "8760h",
        "time after which a channel that was not seen is forgotten, with its tags and named user; 0 = never")

    public static let logLevel = SettingKey(
        "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]), "info",
        "least severe message that is logged")
    public static let logFormat = SettingKey("log.format", .choice(["text", "json"]), "text", "text or JSON lines")

    /// All settings of a deployment, in the order of the file.
    public static let all: [SettingKey] = [
        redisURL, redisCAFile, redisCertFile, redisKeyFile, redisConnections, redisPrefix, redisWaitReplicas,
        redisWaitTimeout,
        gatewayHost, gatewayPort, gatewayURL, gatewayPublicURL, gatewayMaxBody, gatewayMaxConcurrency,
        gatewayMaxConcurrencyApp, gatewayMaxConcurrencyDevice, gatewayMaxBodyMemory, gatewayMaxConnections,
        gatewayMaxConnectionsPerAddress, gatewayMaxQueue, gatewayMaxQueueTotal,
        limitsTagsPerChannel, limitsNames, limitsChannels, limitsFollowers, limitsStartTokens,
        workerTransport, workerLanes, workerStreams, workerPage, workerConcurrency, workerClaimAfter, workerMaxClaims,
        workerMaxAttempts, workerDrainTimeout,
        workerRequestTimeout, workerName, workerHost, workerPort,
        guardShare, guardAnswers, guardWindow, guardMemory,
        defaultsStaleAfter, defaultsEndAfter, defaultsCatchUp, defaultsExpiryStart, defaultsExpiryUpdate,
        defaultsExpiryEnd, budgetHighPerHour, budgetHighPerHourInfrequent,
        pacingMinInterval,
        broadcastDeleteAfter, startTokensStaleAfter, channelsExpireAfter,
        logLevel, logFormat,
    ]
}
