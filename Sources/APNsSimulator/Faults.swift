/// What goes wrong. The JSON form (snake case; `docs/simulator.md`) leaves out what does not; an unknown key is an error.
/// Shares are 0 to 1 and fall by a hash of seed, token and attempt, never by chance.
public struct Faults: Sendable, Hashable, Encodable {
    // Tokens
    /// Share of all tokens that are dead for good.
    public var deadShare = 0.0
    /// Answers of the dead by weight: `Unregistered` and `ExpiredToken` are 410s, `BadDeviceToken` and
    /// `DeviceTokenNotForTopic` 400s.
    public var deadReasons: [String: Double] = ["Unregistered": 1]
    /// Milliseconds since 1970 in a 410's `timestamp`; nil = the time of the answer.
    public var deadSince: Int?
    /// Dead whatever the share says; the first match counts.
    public var deadTokens: [DeadToken] = []
    /// Tokens whose requests get one reason, before anything is asked about the token's life; the first match counts.
    public var refusedTokens: [RefusedToken] = []

    // Requests
    /// Reason → share of requests that get it, such as `TooManyRequests`, `InternalServerError`, `ServiceUnavailable`.
    /// A retry is another attempt and draws anew.
    public var rejections: [String: Double] = [:]
    /// Seconds in the Retry-After of every 429 and 503; nil = no such header.
    public var retryAfter: Int?
    /// Every request gets this reason, such as `InvalidProviderToken` or `Shutdown`.
    public var rejectAll: String?
    /// This many requests, from now on, get 403 ExpiredProviderToken.
    public var expireNext = 0
    /// Provider tokens with an `iat` (epoch seconds) before this are expired.
    public var expireIssuedBefore: Int?
    /// Milliseconds before each answer, and up to as many more.
    public var latency = 0.0
    public var latencyJitter = 0.0
    /// Share of requests that end in RST_STREAM, its error code, and whether the device got the push first.
    public var resetShare = 0.0
    public var resetCode = ResetCode.internalError
    public var resetDelivers = false
    /// Tokens, by lowercase hex that they begin with, whose requests never get an answer.
    public var stallTokens: [String] = []
    /// Share of requests that never get an answer, and whether the device got the push.
    public var stallShare = 0.0
    public var stallDelivers = false

    // Broadcast channels
    /// As `rejections`, of the broadcasts. `rejectAll`, `reset…`, `stall…` and the connections' faults are theirs too.
    public var broadcastRejections: [String: Double] = [:]
    /// As `rejections`, of the management requests, such as `FeatureNotEnabled`, `TooManyRequests`.
    public var manageRejections: [String: Double] = [:]
    /// This many management requests, from now on, are carried out and then reset without an answer.
    public var manageLoseNext = 0

    // Connections; N counts the requests of each connection.
    /// From the request after the Nth on, no request gets an answer.
    public var stallAfter: Int?
    /// After N requests the whole connection freezes: nothing is read, answered or acknowledged, and it stays open.
    public var freezeAfter: Int?
    /// GOAWAY at the Nth request; 0 = as soon as the connection stands, with nothing processed.
    public var goawayAfter: Int?
    public var goawayMode = GoawayMode.graceful
    /// `reason` in the GOAWAY's JSON.
    public var goawayReason = "Shutdown"
    /// The TCP connection closes at the Nth request, with nothing said; requests in flight are lost. 0 = as soon as it
    /// stands.
    public var closeAfter: Int?
    /// New connections are closed before TLS begins.
    public var refuseConnections = false
    /// New connections are taken and then nothing is said on them.
    public var silence: Silence?
    /// Every Nth connection, the first among them, answers so many milliseconds later.
    public var slowEvery: Int?
    public var slowLatency = 0.0
    /// SETTINGS_MAX_CONCURRENT_STREAMS at the Nth request of a connection.
    public var settings: [SettingsChange] = []
    /// Field: a rejection lowers the limit to 1, the next acceptance restores it.
    public var settingsDropOnRejection = false

    public init() {}
}

public struct DeadToken: Sendable, Hashable, Encodable {
    /// Lowercase hex that the token begins with: whole, or any part of it.
    public var prefix: String
    /// nil = drawn from `deadReasons`.
    public var reason: String?
    /// As `Faults.deadSince`.
    public var since: Int?

    public init(prefix: String, reason: String? = nil, since: Int? = nil) {
        self.prefix = prefix
        self.reason = reason
        self.since = since
    }
}

public struct RefusedToken: Sendable, Hashable, Codable {
    /// Lowercase hex that the token begins with: whole, or any part of it.
    public var prefix: String
    /// Any reason, such as `TopicDisallowed` or `ServiceUnavailable`.
    public var reason: String

    public init(prefix: String, reason: String) {
        self.prefix = prefix
        self.reason = reason
    }
}

public struct SettingsChange: Sendable, Hashable, Encodable {
    /// Requests on the connection at which it is sent.
    public var afterRequests: Int
    public var streams: Int

    public init(afterRequests: Int, streams: Int) {
        self.afterRequests = afterRequests
        self.streams = streams
    }
}

public enum GoawayMode: String, Sendable, Hashable, Codable {
    /// Last stream id = the newest request: all that arrived are answered, then the connection closes.
    case graceful
    /// Last stream id = the newest answered request: all in flight were not processed; the connection closes at once.
    case abrupt
}

/// How far a new connection comes.
public enum Silence: String, Sendable, Hashable, Codable {
    /// TCP connects, and no TLS handshake is answered.
    case beforeTLS = "before_tls"
    /// TLS stands, and no frame of HTTP/2 ever comes.
    case beforeHTTP2 = "before_http2"
}

public enum ResetCode: String, Sendable, Hashable, Codable {
    case internalError = "internal_error"
    case refusedStream = "refused_stream"
    case cancel
    case enhanceYourCalm = "enhance_your_calm"
}

/// Faults that change as the run goes on. JSON: `{"phases":[{"after_requests":N | "after_seconds":S, "faults":{…}}, …]}`.
public struct Scenario: Sendable, Hashable, Encodable {
    public var phases: [Phase]

    /// A phase begins when both of its conditions hold and the phase before it has begun; it replaces the faults whole.
    public struct Phase: Sendable, Hashable, Encodable {
        /// Requests since the start or the last reset, over all connections.
        public var afterRequests: Int?
        /// Seconds since the start or the last reset.
        public var afterSeconds: Double?
        public var faults: Faults

        public init(afterRequests: Int? = nil, afterSeconds: Double? = nil, faults: Faults) {
            self.afterRequests = afterRequests
            self.afterSeconds = afterSeconds
            self.faults = faults
        }
    }

    public init(phases: [Phase]) {
        self.phases = phases
    }
}
