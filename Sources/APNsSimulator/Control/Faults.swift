/// The faults that the simulator produces. The JSON form (snake case; `docs/features/simulator.md`) may leave out any
/// fault, and an unknown key is an error. Shares are 0 to 1. A hash of seed, token and attempt decides, so a run is
/// reproducible.
public struct Faults: Sendable, Hashable, Encodable {
    // Tokens
    /// The share of all tokens that are dead for good.
    public var deadShare = 0.0
    /// Reasons by weight: `Unregistered` or `ExpiredToken` (410), `BadDeviceToken` or `DeviceTokenNotForTopic` (400).
    /// Without any, all are `Unregistered`.
    public var deadReasons: [String: Double] = [:]
    /// Milliseconds since 1970 in the `timestamp` of a 410. Nil means the time of the response.
    public var deadSince: Int?
    /// Tokens that are dead whatever the share is. The first match counts.
    public var deadTokens: [DeadToken] = []
    /// Tokens whose requests all get one reason, whether or not the token is dead. The first match counts.
    public var refusedTokens: [RefusedToken] = []

    // Requests
    /// The share of requests for each reason, such as `TooManyRequests`. A retry is a new attempt and draws again.
    public var rejections: [String: Double] = [:]
    /// Seconds in the Retry-After of every 429 and 503. Nil means no such header.
    public var retryAfter: Int?
    /// The reason that every request gets, such as `InvalidProviderToken` or `Shutdown`.
    public var rejectAll: String?
    /// How many requests from now on get a 403 ExpiredProviderToken.
    public var expireNext = 0
    /// Keys that APNs refuses, as after a revocation: the key id, and the reason that its requests get.
    public var refusedKeys: [String: String] = [:]
    /// Provider tokens with an earlier `iat` (epoch seconds) count as expired.
    public var expireIssuedBefore: Int?
    /// Milliseconds before each response, and the most that chance adds to them.
    public var latency = 0.0
    public var latencyJitter = 0.0
    /// The share of requests that end in RST_STREAM, the error code, and whether the device gets the push before that.
    public var resetShare = 0.0
    public var resetCode = ResetCode.internalError
    public var resetDelivers = false
    /// Tokens whose requests never get a response, by the lowercase hex with which they begin.
    public var stallTokens: [String] = []
    /// Tokens whose responses come this many milliseconds later, by the lowercase hex with which they begin.
    public var slowTokens: [String] = []
    public var slowTokenLatency = 0.0
    /// The share of requests that never get a response, and whether the device gets the push.
    public var stallShare = 0.0
    public var stallDelivers = false

    // Broadcast channels
    /// Like `rejections`, for broadcasts. `rejectAll`, `reset…`, `stall…` and connection faults apply to them too.
    public var broadcastRejections: [String: Double] = [:]
    /// Like `rejections`, for management requests. Reasons are for example `FeatureNotEnabled` and `TooManyRequests`.
    public var manageRejections: [String: Double] = [:]
    /// How many management requests from now on are executed and then reset without a response.
    public var manageLoseNext = 0

    // FCM
    /// The share of messages that the phone gets late, and the delay in milliseconds. FCM promises no order.
    public var reorderShare = 0.0
    public var reorderDelay = 0.0
    /// The answer to each request for an access token: one of `AccessTokenError`.
    public var tokenError: String?

    // Faults of connections. N counts the requests of each connection.
    /// After N requests, no further request gets a response.
    public var stallAfter: Int?
    /// After N requests the whole connection freezes: it reads, answers and acknowledges nothing, but stays open.
    public var freezeAfter: Int?
    /// Sends GOAWAY at the Nth request. 0 means as soon as the connection is made, before any request is processed.
    public var goawayAfter: Int?
    public var goawayMode = GoawayMode.graceful
    /// The `reason` in the JSON of the GOAWAY.
    public var goawayReason = "Shutdown"
    /// Closes the TCP connection at the Nth request without any frame. Requests in flight are lost. 0 means at once.
    public var closeAfter: Int?
    /// Closes new connections before TLS begins.
    public var refuseConnections = false
    /// Accepts new connections and then sends nothing on them.
    public var silence: Silence?
    /// Every Nth connection, beginning with the first, responds this many milliseconds later.
    public var slowEvery: Int?
    public var slowLatency = 0.0
    /// Sends SETTINGS_MAX_CONCURRENT_STREAMS at the Nth request of a connection.
    public var settings: [StreamLimitChange] = []
    /// A rejection lowers the limit to 1, and the next acceptance restores it. Operators of real senders report this.
    public var settingsDropOnRejection = false

    public init() {}
}

public struct DeadToken: Sendable, Hashable, Encodable {
    /// The lowercase hex with which the token begins, or the whole token.
    public var prefix: String
    /// The reason of these tokens' answers. Nil: `deadReasons` decides.
    public var reason: String?
    /// The same as `Faults.deadSince`, for this token.
    public var since: Int?

    public init(prefix: String, reason: String? = nil, since: Int? = nil) {
        (self.prefix, self.reason, self.since) = (prefix, reason, since)
    }
}

public struct RefusedToken: Sendable, Hashable, Encodable {
    /// The lowercase hex with which the token begins, or the whole token.
    public var prefix: String
    /// Any reason, such as `TopicDisallowed` or `ServiceUnavailable`.
    public var reason: String
}

public struct StreamLimitChange: Sendable, Hashable, Encodable {
    /// The request of the connection at which it is sent.
    public var afterRequests: Int
    public var streams: Int
}

public enum GoawayMode: String, Sendable, Hashable, Codable {
    /// The last stream id is the newest request. Requests that arrived are answered, then the connection closes.
    case graceful
    /// The last stream id is the newest answered request. Others are not processed, and the connection closes at once.
    case abrupt
}

/// The step at which a new connection stops.
public enum Silence: String, Sendable, Hashable, Codable {
    /// TCP connects, but the TLS handshake gets no answer.
    case beforeTLS = "before_tls"
    /// TLS works, but no HTTP/2 frame is ever sent.
    case beforeHTTP2 = "before_http2"
}

public enum ResetCode: String, Sendable, Hashable, Codable {
    case internalError = "internal_error"
    case refusedStream = "refused_stream"
    case cancel
    case enhanceYourCalm = "enhance_your_calm"
}
