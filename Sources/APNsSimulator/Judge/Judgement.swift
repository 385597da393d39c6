/// The decision about one request.
enum Judgement: Sendable, Hashable {
    case accepted
    case rejected(Reason, timestamp: Int?)
    /// The stream ends with RST_STREAM.
    case reset(ResetCode)
    /// The request never gets a response.
    case stalled

    /// The HTTP status of the response. Nil without a response.
    var status: Int? {
        switch self {
        case .accepted: 200
        case .rejected(let reason, _): reason.status
        case .reset, .stalled: nil
        }
    }

    var reason: Reason? { if case .rejected(let reason, _) = self { reason } else { nil } }
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
}
