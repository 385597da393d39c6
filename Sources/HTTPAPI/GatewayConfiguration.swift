public import LiveActivity
public import Store

/// One app that the gateway serves.
public struct GatewayApp: Sendable {
    public var key: AppKey
    /// What devices, and servers acting for one device, authenticate with.
    public var secret: String
    /// What publishers authenticate with.
    public var masterSecret: String
    public var bundleID: String
    /// Seconds to the `stale_date` of starts and updates that give none; nil: they get none.
    public var staleAfter: Int?
    /// How long its pushes without `options.expiry` are tried; events that are not here have their own default.
    public var lives: [ActivityEvent: Duration] = [:]
    /// So long after their start its cards are ended; nil: only when somebody publishes an end.
    public var endAfter: Duration?
    /// What a registration that does not say gets for `options.catch_up`.
    public var catchesUp = false

    public init(key: AppKey, secret: String, masterSecret: String, bundleID: String) {
        self.key = key
        self.secret = secret
        self.masterSecret = masterSecret
        self.bundleID = bundleID
    }
}

public struct GatewayConfiguration: Sendable {
    public var host: String
    /// 0 = any free port; `Gateway.boundPort()` tells which.
    public var port: Int
    public var apps: [GatewayApp]
    /// The address at which devices reach the gateway, without a slash at the end; nil: the SDK's remote config is not served.
    public var publicURL: String?
    /// Of every request body but the bulk call's, which is streamed. Larger: 413, before it is read.
    public var maximumBodyBytes = 1 << 20
    /// Requests of publishers in work at once; past it 503 with `Retry-After`.
    public var maximumRequests = 512
    /// The same with the app secret, and from devices; nil: half as many as of publishers. Each counts for itself.
    public var maximumAppRequests: Int?
    public var maximumDeviceRequests: Int?
    /// Bytes of request bodies in memory, for each of the three.
    public var maximumBodyMemory = 64 << 20
    /// Accepted, unfinished work of one app, and of all together, in entries of its queues (`QueueBounds`): past it 429 with
    /// `Retry-After`, but for pushes that replace one that waits.
    public var maximumQueue = 100_000
    public var maximumQueueTotal = 500_000
    /// The workers' own, for a word in the answer to who goes past it.
    public var budget = HighBudget()
    /// A start token that was last reported longer ago is shown as stale.
    public var startTokensStaleAfter: Duration = .seconds(48 * 3_600)
    /// Open connections; more wait in the kernel's backlog. Lowered at start to what the open-files limit leaves room for.
    public var maximumConnections = 4_096
    /// Those of one client address; more are closed at once. 0 = any number.
    public var maximumConnectionsPerAddress = 1_024
    /// A connection on which nothing arrives for this long, between or inside requests, is closed.
    public var idleTimeout: Duration = .seconds(60)
    /// From the end of the head to the end of the body (not of the bulk call); past it the connection is closed.
    public var readTimeout: Duration = .seconds(30)
    /// A connection whose peer takes nothing of its answers for this long is closed.
    public var writeTimeout: Duration = .seconds(30)
    /// Named in the `Server` header, `/healthz` and the log.
    public var version = "dev"

    /// What asks Redis and needs no secret: `/readyz` and `/metrics`.
    private static let openRequests = 16

    var capacity: Capacity {
        let half = max(1, maximumRequests / 2)
        return Capacity(
            requests: [
                .master: maximumRequests, .app: maximumAppRequests ?? half, .device: maximumDeviceRequests ?? half,
                .anyone: Self.openRequests,
            ], bytes: max(maximumBodyMemory, 2 * maximumBodyBytes), apps: apps.count)
    }

    public init(host: String = "127.0.0.1", port: Int = 0, apps: [GatewayApp]) {
        self.host = host
        self.port = port
        self.apps = apps
    }
}
