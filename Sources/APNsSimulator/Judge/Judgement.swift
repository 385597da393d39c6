/// The decision about one request.
enum Judgement: Sendable, Hashable {
    case accepted
    case rejected(Reason, timestamp: Int?)
    /// The stream ends with RST_STREAM.
    case reset(ResetCode)
    /// The request never gets a response.
    case stalled

    /// Nil without a response.
    var status: Int? {
        switch self {
        case .accepted: 200
        case .rejected(let reason, _): reason.status
        case .reset, .stalled: nil
        }
    }

    var reason: Reason? { if case .rejected(let reason, _) = self { reason } else { nil } }
}

/// The response to one request.
struct Answer: Sendable {
    var judgement: Judgement
    /// The status of an accepted request.
    var status = 200
    /// The id that the request brought, or a new one.
    var id: MessageID
    /// `apns-channel-id` of a new channel.
    var channelID: String?
    var body: [UInt8] = []
}

/// Instructions for a connection when a request arrives, before the request itself is checked.
struct Orders: Sendable, Equatable {
    enum Fault: Sendable, Equatable {
        case close, freeze
        case goaway(GoawayMode, reason: String)
    }

    var connection: Fault?
    var stalls = false
    /// A new SETTINGS_MAX_CONCURRENT_STREAMS.
    var streams: Int?
    var dropsOnRejection = false
    /// Milliseconds until the request is checked.
    var latency = 0.0
    /// Seconds in the Retry-After of a 429 or 503.
    var retryAfter: Int?
}

/// Instructions for a connection when its TLS handshake is complete.
enum Preface: Sendable, Equatable {
    case serve, silence, close
    case goaway(reason: String)
}

/// Everything that APNs knows of one connection.
struct ConnectionFacts: Sendable {
    /// The number among all connections, from 1.
    var number = 0
    /// Requests that were read to their end.
    var requests = 0
    /// The highest stream whose request was checked.
    var lastProcessed: UInt32 = 0
    /// Whether a request with a valid provider token has come.
    var isAuthenticated = false
    /// The client's port.
    var port: UInt16 = 0
    /// The index in `keys` of the first valid token.
    var key: Int?
    var presented = PresentedTokens()
    /// Provider token and topic of the last good request. The next request nearly always has the same ones.
    var lastToken: ProviderTokenCheck.Token?
    var lastAuthorization: String?
    var lastTopic: String?
}
