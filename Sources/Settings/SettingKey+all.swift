import Fanout
import HTTPAPI
import Lanes
import LiveActivity
import OpenSSL
import Redis
import Spans
import Store

extension SettingKey {
    /// All settings of a deployment, in the order of the file; the settings of features come last.
    public static let all: [SettingKey] =
        redis + section(of: .gateway, gateway) + monitor + section(of: .gateway, console + limits)
        + section(of: .worker, worker + delivery + prune) + section(of: .gateway, defaults) + lifetimes
        + traces + log + ofFeatures.joined()

    private static let redis: [SettingKey] = [
        SettingKey(\Settings.redisURL, "redis.url", .text, "redis://127.0.0.1:6379/0") { text, origin, settings in
            do throws(RedisURLError) {
                settings.redisURL = try RedisURL(text)
                return nil
            } catch {
                // The text may hold a password, so only the parser's own message is shown.
                return .malformed(origin, reason: "redis.url: \(error.description)")
            }
        }.orCommonVariable("REDIS_URL").orFile().help(
            "Redis: redis://[user:password@]host:port/db, unix:///path, redis+sentinel://host:port,…/name/db or "
                + "redis+cluster://host:port,…; rediss with TLS; the variable REDIS_URL is read if nothing else sets it"
        ),
        .file(\.redisTLS.roots, "redis.ca_file").help("PEM roots for Redis with TLS; default: those of the system"),
        .file(\.redisTLS.certificate, "redis.cert_file").help("PEM certificate of this client, if Redis asks for one")
            .needs("redis.key_file"),
        .file(\.redisTLS.key, "redis.key_file").help("PEM private key of redis.cert_file")
            .needs("redis.cert_file", remedy: "set it to the certificate of redis.key_file"),
        .text(\.redisTLS.verification, "redis.verify", "full", expected: TLSServer.Trust.rule) {
            TLSServer.Trust($0)
        }.help(
            "how the certificate of a Redis with TLS is checked: full, sha256:… of that very certificate, or none, which "
                + "keeps nobody out"),
        .whole(\.redisConnections, "redis.connections", 1...64, "2").help("connections to Redis, one thread each"),
        .text(\.redisPrefix, "redis.prefix", "ll", expected: "1 to 32 characters of A-Z a-z 0-9 _ . -") {
            $0.utf8.count <= 32 && (try? AppKey($0)) != nil ? $0 : nil
        }.help("first part of every key, so that deployments can share a Redis"),
        .whole(\.waitReplicas, "redis.wait_replicas", 0...16, "0")
            .help("replicas that must have a publish before its 202").of(.gateway),
        .time(\.waitTimeout, "redis.wait_timeout", 0.01...10, "1s")
            .help("the longest wait for these replicas, after which the answer is 503").of(.gateway),
    ]

    private static let gateway: [SettingKey] = [
        .host(\.gateway.host, "gateway.host", "127.0.0.1").help("address to listen on; 0.0.0.0 for all"),
        .whole(\.gateway.port, "gateway.port", 0...65_535, "8080").orVariable("PORT")
            .help("port to listen on; 0 picks a free one; the variable PORT is read too"),
        .file(\.gatewayTLS.certificate, "gateway.cert_file")
            .help("PEM certificate of the gateway and its chain; default: the gateway speaks plain HTTP")
            .needs("gateway.key_file", remedy: "gateway.cert_file needs it: set it to its private key").live(.gateway),
        .file(\.gatewayTLS.key, "gateway.key_file").help("PEM private key of gateway.cert_file").live(.gateway)
            .needs("gateway.cert_file", remedy: "set it to the certificate of gateway.key_file"),
        .file(\.gatewayTLS.roots, "gateway.ca_file")
            .help("PEM roots with which commands check the gateway; default: those of the system").of(),
        .text(\.gatewayURL, "gateway.url", nil, expected: "http://host:port or https://host", parse: address)
            .help("address at which commands find the gateway; default: gateway.host and gateway.port").of(),
        .text(\.gateway.publicURL, "gateway.public_url", nil, expected: "https://host") {
            address($0).map(Optional.some)
        }.help("address at which devices find the gateway; Airship's SDK gets it in its remote config").live(.gateway),
        .size(\.gateway.maximumBodyBytes, "gateway.max_body", 4_096...(64 << 20), "1M")
            .help("largest request body, except for bulk imports").live(.gateway),
        .whole(\.gateway.maximumRequests, "gateway.max_concurrency", 1...100_000, "512")
            .help(
                "the most publishers' requests at once, with half as many of the app secret and of devices; others are "
                    + "answered 503"
            ).live(.gateway),
        .whole(\.gateway.maximumConnections, "gateway.max_connections", 16...1_000_000, "4096")
            .help("the most open connections; others wait until one closes"),
        .whole(\.gateway.maximumConnectionsPerAddress, "gateway.max_connections_per_address", 0...1_000_000, "1024")
            .help("the most connections of one IPv4 address or IPv6 network (/64); others are closed; 0 = no limit"),
        .time(\.gateway.idleTimeout, "gateway.idle_timeout", 1...3_600, "75s")
            .help("a connection without a byte for this long is closed"),
        .time(\.gateway.readTimeout, "gateway.read_timeout", 1...600, "30s")
            .help("a request whose body takes longer is answered 408; bulk calls have no limit").live(.gateway),
        .whole(\.gateway.maximumQueue, "gateway.max_queue", 1...100_000_000, "100000")
            .help("the most queued names and shards of one app; above it publishes are answered 429").live(.gateway),
        .whole(\.gateway.maximumQueueTotal, "gateway.max_queue_total", 1...100_000_000, "500000")
            .help("the most queued names and shards of all apps; above it publishes are answered 429").live(.gateway),
        .text(\.gateway.trustedProxies, "gateway.trusted_proxies", nil, expected: AddressRanges.rule) {
            AddressRanges($0).map(TrustedProxies.init)
        }.help("proxies whose X-Forwarded-For is believed: addresses or networks, with commas between them")
            .live(.gateway),
        .text(\.gateway.serverAddresses, "gateway.server_addresses", nil, expected: AddressRanges.rule) {
            AddressRanges($0)
        }.help("where servers and operators are: from elsewhere the master secret and credentials are refused")
            .live(.gateway),
    ]

    private static let monitor: [SettingKey] = [
        .host(\.gatewayMonitorHost, "monitor.host", "127.0.0.1")
            .help("address for monitor.port; 0.0.0.0 for all").of(.gateway),
        .optionalWhole(\.gatewayMonitorPort, "monitor.port", 0...65_535)
            .help(
                "port for a gateway's /readyz and /metrics alone; 0 picks a free one; default: gateway.port has them"
            ).of(.gateway),
        SettingKey(\Settings.monitorSecret, "monitor.secret", .text, nil) { text, origin, settings in
            guard (8...256).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                let expected = "8 to 256 characters of printable ASCII without spaces"
                return .invalid(key: "monitor.secret", origin, found: nil, expected: expected)
            }
            settings.monitorSecret = text
            return nil
        }.orFile().help(
            "what /readyz and /metrics ask for, as the password of Basic or as a Bearer token; default: nothing"
        )
        .live(.gateway),
    ]

    private static let console: [SettingKey] = [
        .choice(\.gateway.hasConsole, "console.enabled", [("true", true), ("false", false)], "true")
            .help("whether the gateway serves the console at /console, see docs/console.md"),
        .time(\.gateway.consoleUndo, "console.undo", 0...300, "10s")
            .help("how long a publish of the console waits, so that it can be taken back; 0 sends it at once"),
    ]

    /// Removes slashes at the end. Nil if the text is not an HTTP address.
    private static func address(_ text: String) -> String? {
        guard text.hasPrefix("http://") || text.hasPrefix("https://"), !text.contains(" ") else { return nil }
        var address = text
        while address.hasSuffix("/") { address.removeLast() }
        return address
    }

    private static let quota = 0...1_000_000_000_000
    private static let limits: [SettingKey] = [
        .whole(\.gateway.failedSignInsPerMinute, "limits.failed_sign_ins", 0...1_000_000, "60")
            .help("the most wrong secrets of one address in a minute; then its secrets are answered 429; 0 = no limit")
            .live(.gateway),
        .whole(\.gateway.requestsPerAddress, "limits.requests_per_address", 0...1_000_000, "200")
            .help(
                "the most requests of one address in a second, at all gateways; more are answered 429; the master "
                    + "secret and credentials are not counted; 0 = no limit"
            ).live(.gateway),
        .whole(\.gateway.requestsPerCredential, "limits.requests_per_credential", 0...1_000_000, "0")
            .help(
                "the most requests with one credential in a second, at all gateways; devices have none; 0 = no limit"
            )
            .live(.gateway),
        .whole(\.quotas[orZero: .names], "limits.names", quota, "1000000")
            .help("the most followed names of one app; new ones above it are answered 429; 0 = no limit")
            .live(.gateway),
        .whole(\.quotas[orZero: .channels], "limits.channels", quota, "10000000")
            .help("the most channels of one app, estimated").live(.gateway),
        .whole(\.quotas[orZero: .followers], "limits.followers", quota, "50000000")
            .help("the most followers of all names of one app together, estimated").live(.gateway),
        .whole(\.quotas[orZero: .startTokens], "limits.start_tokens", quota, "50000000")
            .help("the most push-to-start tokens of all types of one app together, estimated").live(.gateway),
        .whole(\.quotas[orZero: .tags], "limits.tags", quota, "1000000")
            .help("the most different tags of all channels of one app together, estimated").live(.gateway),
    ]

    private static let worker: [SettingKey] = [
        .choice(\.apns.transport, "worker.transport", TransportKind.allCases.map { ($0.rawValue, $0) }, "nghttp2")
            .help("library that sends to APNs"),
        .whole(\.apns.lanes, "worker.lanes", 1...64, "2")
            .help("sending threads for each app, one HTTP/2 connection each"),
        .whole(\.worker.pageSize, "worker.page", 1...5_000, "1000")
            .help("tokens that are read, sent and settled together"),
        .whole(\.worker.concurrency, "worker.concurrency", 1...1_024, "48").help("the most small pushes at once"),
        .time(\.worker.claimAfter, "worker.claim_after", 1...3_600, "10s")
            .help("time after which other workers claim the tasks of a silent worker").of(.gateway, .worker),
        .whole(\.worker.retries.attempts, "worker.max_attempts", 0...10_000, "0")
            .help("attempts for one token before it becomes a dead letter; 0 = until the push expires").live(.worker),
        .time(\.worker.drainTimeout, "worker.drain_timeout", 1...3_600, "25s")
            .help("the longest wait for pages in flight after SIGTERM"),
        .time(\.apns.requestTimeout, "worker.request_timeout", 0.1...300, "10s")
            .help("deadline of one request to APNs"),
        .text(\.workerName, "worker.name", nil, expected: "1 to 128 bytes without control characters") { text in
            (try? checkText(text, what: "", maximumBytes: 128)) == nil ? nil : .some(text)
        }.help("name in status and logs, unique in the fleet; default: host name and process id, in containers longer"),
        .text(\.workerApps, "worker.apps", nil, expected: "app keys with commas, each or none with a minus before it") {
            WorkerApps($0).map(Optional.some)
        }.help("apps that this worker serves, such as 'shop,news', or leaves out, such as '-shop'; default: all"),
        .host(\.monitorHost, "worker.host", "127.0.0.1").help("address for worker.port; 0.0.0.0 for all"),
        .optionalWhole(\.monitorPort, "worker.port", 0...65_535)
            .help("port for a worker's /healthz, /readyz and /metrics; 0 picks a free one; default: no port is opened"),
    ]

    private static let delivery: [SettingKey] = [
        .whole(\.maximumPerSecond, "delivery.max_per_second", 0...10_000_000, "0")
            .help(
                "the most tokens a second that all workers send to for one app; 0 = no limit; an app may have its own"
            )
            .live(.worker),
        .whole(\.maximumPerSecondOfPush, "delivery.max_per_second_push", 0...10_000_000, "0")
            .help("the same for one push; an app may have its own").live(.worker),
    ]

    private static let prune: [SettingKey] = [
        .share(\.worker.pruneGuard.share, "guard.share", 0.01...1, "0.5")
            .help("share of tokens called wrong (400) from which they are quarantined instead of pruned").live(.worker),
        .whole(\.worker.pruneGuard.answers, "guard.answers", 1...1_000_000, "200")
            .help("the fewest answers, of a push or of an app, that make a share count").live(.worker),
        .time(\.worker.pruneGuard.window, "guard.window", 60...7_200, "10m")
            .help("time over which an app's answers are counted, in whole minutes").live(.worker),
    ]

    private static let defaults: [SettingKey] = [
        .time(\.staleAfter, "defaults.stale_after", 0...28_800, "0")
            .help("time to the stale_date of updates that have none; 0 = no stale date; an app may have its own")
            .live(.gateway),
        .time(\.endAfter, "defaults.end_after", 0...28_800, "0")
            .help("time from a card's start to its automatic end; 0 = no automatic end; an app may have its own")
            .of(.gateway, .worker).live(.gateway, .worker),
        .choice(\.catchUp, "defaults.catch_up", [("false", false), ("true", true)], "false")
            .help("whether a new follower gets the last published state at once; an app may have its own")
            .live(.gateway),
        .choice(\.receipts, "defaults.receipts", [("false", false), ("true", true)], "false")
            .help("whether pushes carry a mark, and devices may tell which they show; an app may have its own")
            .live(.gateway),
        .choice(\.respectDismissal, "defaults.respect_dismissal", [("false", false), ("true", true)], "false")
            .help("whether a start leaves out devices whose user dismissed the name's card; an app may have its own")
            .live(.gateway),
        .choice(\.deviceTags, "defaults.device_tags", [("true", true), ("false", false)], "true")
            .help("whether devices, and the app secret, may set tags of channels; an app may have its own")
            .live(.gateway),
        .choice(\.deviceUsers, "defaults.device_users", [("true", true), ("false", false)], "true")
            .help("whether devices, and the app secret, may say whose a channel is; an app may have its own")
            .live(.gateway),
        .time(\.lives[orZero: .start], "defaults.expiry_start", 1...86_400, "1h")
            .help("how long a start without options.expiry is tried after its acceptance; an app may have its own")
            .live(.gateway),
        .time(\.lives[orZero: .update], "defaults.expiry_update", 1...86_400, "8h")
            .help("how long an update without options.expiry is tried after its acceptance; an app may have its own")
            .live(.gateway),
        .time(\.lives[orZero: .end], "defaults.expiry_end", 1...86_400, "8h")
            .help("how long an end without options.expiry is tried after its acceptance; an app may have its own")
            .live(.gateway),
    ]

    private static let lifetimes: [SettingKey] = [
        .whole(\.worker.budget.perHour, "budget.high_per_hour", 0...100_000, "0")
            .help("updates of a name per hour at priority 10; others without an alert go at 5; 0 = no limit")
            .live(.gateway, .worker),
        .time(\.worker.minInterval, "pacing.min_interval", 0...3_600, "1")
            .help("the least time between updates of a name without an alert; 0 = no pacing").live(.gateway, .worker),
        .time(\.worker.broadcastChannelLife, "broadcast.delete_after", 0...604_800, "1h")
            .help("time from a name's end to the deletion of its broadcast channel").of(.worker).live(.worker),
        .time(\.worker.startTokensStaleAfter, "start_tokens.stale_after", 60...31_536_000, "48h")
            .help("time without a report after which a start token counts as stale").live(.gateway, .worker),
        .whole(\.eventsKept, "events.keep", 0...100_000_000, "0")
            .help("about how many events the stream of an app keeps in Redis for others to read; 0 = no stream"),
        .time(\.pushesExpireAfter, "pushes.expire_after", 172_800...315_360_000, "168h")
            .help("how long a push, its counts, its dead letter and a finished schedule are kept"),
        .whole(\.worker.mostPushes, "pushes.most", 0...1_000_000_000_000, "10000000")
            .help("about how many pushes of an app are kept; the oldest ones go; 0 = no limit").of(.worker)
            .live(.worker),
        .time(\.actions.life, "actions.expire_after", 3_600...315_360_000, "2160h")
            .help("how long the log of actions keeps who did what").of(.gateway),
        .whole(\.actions.keep, "actions.keep", 0...100_000_000, "100000")
            .help("about how many actions of an app its log keeps; 0 = no log").of(.gateway),
        .time(\.channelsExpireAfter, "channels.expire_after", 0...315_360_000, "8760h")
            .help("time without a call after which a channel is forgotten, with its tags and named user; 0 = never"),
    ]

    private static let traces: [SettingKey] = [
        .text(\.tracesEndpoint, "traces.endpoint", nil, expected: "http://host:4318 or https://host") {
            // A password there would be in logs; traces.headers is for secrets.
            $0.contains("@") ? nil : address($0).map(Optional.some)
        }.help("collector that takes traces as OTLP over HTTP in JSON, without /v1/traces; default: no traces"),
        .share(\.tracesShare, "traces.sample", 0...1, "0.01")
            .help("share of publishes that begin a trace; those with a traceparent are traced as it says"),
        SettingKey(\Settings.tracesHeaders, "traces.headers", .text, nil) { text, origin, settings in
            guard let headers = SpanExporter.Options.Header.list(text) else {
                let expected = "name=value, with commas between several"
                return .invalid(key: "traces.headers", origin, found: nil, expected: expected)
            }
            settings.tracesHeaders = headers
            return nil
        }.help("headers for the collector, such as authorization=Bearer …, with commas between them"),
        .file(\.tracesCAFile, "traces.ca_file")
            .help("PEM roots for a collector with TLS; default: those of the system"),
    ]

    private static let log: [SettingKey] = [
        .choice(
            \.log.level, "log.level",
            ["trace", "debug", "info", "notice", "warning", "error", "critical"].map { ($0, $0) }, "info"
        ).help("least severe message that is logged").live(.gateway, .worker),
        .choice(\.log.format, "log.format", [("text", .text), ("json", .json), ("ecs", .ecs)], "text")
            .help("form of log lines"),
    ]
}

extension Dictionary where Value: AdditiveArithmetic {
    /// A value that a row sets. Zero until then.
    fileprivate subscript(orZero key: Key) -> Value {
        get { self[key] ?? .zero }
        set { self[key] = newValue }
    }
}
