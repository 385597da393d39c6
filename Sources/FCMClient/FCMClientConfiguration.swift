internal import Delivery
internal import Lanes
internal import LiveActivity
internal import Logging

/// Where one app sends its Android Live Updates to, and with which account.
public struct FCMClientConfiguration: Sendable {
    /// `https://host[:port]`, no path.
    public var origin: String
    public var accounts: LiveServiceAccount
    /// PEM file of the root certificates for a server other than Google's, and for the token endpoint. Nil: the
    /// system's.
    public var caFile: String?
    /// Threads, each with one connection.
    public var lanes: Int
    /// The most requests in flight on one connection.
    public var maximumStreams: Int
    /// The time for one request, and for making a connection.
    public var requestTimeout: Duration
    /// Lets processes agree on one access token. Nil: this process gets its own.
    public var share: (any AccessTokenShare)?
    /// Epoch milliseconds, by which tokens end and `Retry-After` dates are read.
    public var clock: @Sendable () -> Int64 = wallClock
    /// The app's key: the label of its metrics.
    public var app = ""

    public static let defaultOrigin = "https://fcm.googleapis.com"
    /// FCM ends a connection on which more requests are in flight.
    public static let mostStreams = 100

    public init(
        origin: String = defaultOrigin, accounts: LiveServiceAccount, caFile: String? = nil, lanes: Int = 1,
        maximumStreams: Int = mostStreams, requestTimeout: Duration = .seconds(10),
        share: (any AccessTokenShare)? = nil
    ) {
        self.origin = origin
        self.accounts = accounts
        self.caFile = caFile
        self.lanes = lanes
        self.maximumStreams = maximumStreams
        self.requestTimeout = requestTimeout
        self.share = share
    }

    func accessTokens(_ logger: Logger) -> AccessTokenSource {
        AccessTokenSource(
            accounts, share: share, logger: logger, now: { [clock] in Int(clock() / 1_000) },
            exchange: { [caFile, requestTimeout] (account, now) async throws(TokenExchangeError) in
                try await TokenExchange(account: account, caFile: caFile, timeout: requestTimeout).run(now: now)
            })
    }

    func settings(_ logger: Logger) throws(FCMClientError) -> LaneSettings {
        guard let server = Origin(origin) else {
            throw .configuration(
                field: "fcm url \(origin.debugDescription)",
                "expected https://host or https://host:port, without a path")
        }
        guard (1...256).contains(lanes) else { throw .configuration(field: "worker.lanes", "expected 1 to 256") }
        guard maximumStreams >= 1 else { throw .configuration(field: "maximum streams", "expected 1 or more") }
        guard requestTimeout > .zero, requestTimeout <= .seconds(3_600) else {
            throw .configuration(field: "request timeout", "expected more than 0 s, at most an hour")
        }
        if let caFile, let problem = AuthorityFile.problem(caFile) {
            throw .configuration(field: "fcm ca_file \(caFile.debugDescription)", problem)
        }
        return LaneSettings(
            LanePlatform(.fcm, credentials: accessTokens(logger)) { Rejection(fcm: $0) }, origin: server,
            caFile: caFile, requestTimeout: requestTimeout, maximumStreams: min(maximumStreams, Self.mostStreams),
            app: app, clock: clock, logger: logger)
    }
}

/// A configuration that cannot send. No case holds a key or token.
public enum FCMClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A wrong value: its field, and the expected value.
    case configuration(field: String, String)
    /// The system refused another thread or handle, with this error text.
    case system(String)

    /// True if the configuration is good, but the machine lacks something.
    public var isRetriable: Bool { if case .system = self { true } else { false } }

    public var description: String {
        switch self {
        case .configuration(let field, let text): "\(field): \(text)"
        case .system(let message): message
        }
    }
}
