public import Answers
public import LiveActivity
public import OpenSSL
public import Store
import StrictJSON

public struct GatewayConfiguration: Sendable {
    public var host: String
    /// 0 picks any free port. `Gateway.boundPort()` tells which.
    public var port: Int
    public var apps: [GatewayApp]
    /// The gateway's certificate. Nil: it speaks plain HTTP.
    public var identity: TLSIdentity?
    /// The address at which devices reach the gateway, without a slash at its end. Nil: the SDK gets no remote config.
    public var publicURL: String?
    /// The most bytes of a request body. A larger one gets a 413 unread. The bulk call is exempt, as it is streamed.
    public var maximumBodyBytes = 1 << 20
    /// The most requests of publishers that run at once. The next one gets a 503 with `Retry-After`. Requests with the
    /// app secret and requests of devices have half as many places each.
    public var maximumRequests = 512
    /// The most bytes of request bodies and of their JSON's index in memory, for each of the three kinds of callers. It
    /// is at least what two bodies of `maximumBodyBytes` can take, so that one of several apps can send one.
    var maximumBodyMemory = 64 << 20
    /// The most accepted, unfinished work of one app and of all apps together, in entries of the queues
    /// (`QueueBounds`). Above it a publish gets a 429 with `Retry-After`, except if it supersedes a push that waits.
    public var maximumQueue = 100_000
    public var maximumQueueTotal = 500_000
    /// The workers' budget, used to warn a publisher that goes above it.
    public var budget = HighBudget()
    /// How workers begin pushes, so that a gateway begins the pushes of small names. Nil: it leaves all to the workers.
    public var handing: Handing?
    /// A start token is shown as stale if its last report is older than this.
    public var startTokensStaleAfter: Duration = .seconds(48 * 3_600)
    /// The most open connections. Others wait in the kernel's backlog. The open-files limit may lower this at start.
    public var maximumConnections = 4_096
    /// The most connections of one client address. Further ones are closed at once. 0 means no limit.
    public var maximumConnectionsPerAddress = 1_024
    /// A connection is closed if nothing arrives for this long, between or inside requests.
    public var idleTimeout: Duration = .seconds(75)
    /// The time from the end of the head to the end of the body, before a close. The bulk call is exempt.
    public var readTimeout: Duration = .seconds(30)
    /// The read timeout of calls with the app secret and of devices, and of the form that signs in to the console.
    var deviceReadTimeout: Duration = .seconds(10)
    var signInReadTimeout: Duration = .seconds(5)
    /// A connection is closed if its peer reads nothing of a response for this long.
    var writeTimeout: Duration = .seconds(30)
    /// The most wrong secrets of one address in a minute. Then it gets a 429, whatever it sends. 0 means no limit.
    public var failedSignInsPerMinute = 0
    /// The most requests in a second, at all gateways together: of one address without the master secret or a
    /// credential, and of one credential or master secret. 0 means no limit.
    public var requestsPerAddress = 0
    public var requestsPerCredential = 0
    /// The most calls at once whose bodies are streamed. One app of several has half of them.
    var maximumBulkCalls = 64
    /// The time from the first byte of a head to its end, before a close.
    var headTimeout: Duration = .seconds(30)
    /// Proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies = TrustedProxies()
    /// From where the master secret, credentials and the console are used. Empty: from anywhere.
    public var serverAddresses = AddressRanges()
    /// Values of features.
    public var extras = Extras()
    /// Whether `/readyz` and `/metrics` have a port of their own (`Gateway.monitor`). The gateway's port lacks them
    /// then.
    public var hasOwnMonitor = false
    /// The secret of `/readyz` and `/metrics`. Nil: they are open to everybody.
    public var monitorSecret: String?
    /// Whether the gateway serves the console.
    public var hasConsole = true
    /// How long a publish of the console waits as a schedule, so that it can be taken back.
    public var consoleUndo: Duration = .zero
    /// Shown in the `Server` header, in `/healthz` and in the log.
    public var version = "dev"
    /// The settings that it was made of, for operators of an app. They hold no secret.
    public var settings: @Sendable (AppKey) -> [SettingAnswer] = { _ in [] }
    /// The limit for `/readyz` and `/metrics`, because they ask Redis and need no secret.
    static let openRequests = 16
    /// The limits for browsers that are signed in to the console, and for all other browsers.
    static let consoleRequests = 64
    static let signInRequests = 16
    /// The most bytes of a body with the app secret or of a device. The largest is a batch of the SDK.
    static let deviceBodyBytes = 256 << 10

    /// When the gateway's certificate expires, epoch seconds. Nil: it has none.
    var certificateExpiresAt: Int64? { identity?.expiresAt }

    var bounds: QueueBounds {
        QueueBounds(apps: apps.map(\.key), perApp: maximumQueue, total: maximumQueueTotal)
    }

    var capacity: Capacity {
        let half = max(1, maximumRequests / 2)
        let body = maximumBodyBytes + JSONDocument.indexBytes(ofLength: maximumBodyBytes)
        return Capacity(
            requests: [
                .master: maximumRequests, .app: half, .device: half, .anyone: Self.openRequests,
                .console: Self.consoleRequests, .signIn: Self.signInRequests,
            ], bytes: max(maximumBodyMemory, 2 * body), streams: maximumBulkCalls, apps: apps.count)
    }

    public init(host: String = "127.0.0.1", port: Int = 0, apps: [GatewayApp]) {
        self.host = host
        self.port = port
        self.apps = apps
    }
}

extension GatewayConfiguration {
    /// Whether the master secret, credentials and the console may be used from there.
    func isServer(_ address: ClientAddress) -> Bool {
        serverAddresses.isEmpty || serverAddresses.contains(address.text) || address.isOperator
    }
}
