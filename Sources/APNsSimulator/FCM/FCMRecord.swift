/// Counts of FCM since the start or the last reset. `GET /simulator/fcm/record` returns them as JSON in snake case.
public struct FCMRecord: Sendable, Hashable, Codable, ConnectionCounts {
    /// Requests to send a message that were read to their end. `accepted` counts the requests that got a 200, and
    /// `validated` counts the accepted requests with `validate_only`.
    public var requests = 0
    public var accepted = 0
    public var validated = 0
    /// Different addresses of well-formed messages, and different addresses of accepted messages (0 in fast mode).
    public var addresses = 0
    public var acceptedAddresses = 0
    public var byStatus: [String: Int] = [:]
    /// Rejections by the names of `FCMReason`.
    public var byReason: [String: Int] = [:]
    /// Messages that phones took. The next four count messages that phones did not take. `pending` counts messages that
    /// a fault holds back.
    public var shown = 0
    public var duplicates = 0
    public var droppedByDevice = 0
    public var ignoredByDevice: [String: Int] = [:]
    public var pending = 0
    /// How often a phone showed a lower order after a greater one. It needs `orderMember`, else it is 0.
    public var backwards = 0
    /// Messages that reached the phone, but got no answer because of a fault. Not in `accepted`.
    public var acceptedUnanswered = 0
    public var stalled = 0
    public var reset = 0
    /// Requests for an access token, and their errors.
    public var tokenRequests = 0
    public var tokenByReason: [String: Int] = [:]
    public var unprocessed = 0
    public var cancelled = 0
    public var goaways = 0
    public var excessStreams = 0
    public var connections = 0
    public var openConnections = 0
    public var inFlight = 0
    /// The most requests in flight on one connection.
    public var maximumInFlight = 0
    /// Milliseconds since 1970.
    public var firstRequestAtMs: Int?
    public var lastRequestAtMs: Int?
}

/// Everything that one address received, and what its phone shows.
public struct FCMReport: Sendable, Hashable {
    public var address: String
    /// `token` or `fid`.
    public var kind: String
    public var requests = 0
    public var accepted = 0
    public var shown = 0
    public var duplicates = 0
    public var droppedByDevice = 0
    public var ignoredByDevice = 0
    /// Answers that call the address dead.
    public var deadAnswers = 0
    /// The channel's id, from the first message that had one.
    public var channel: String?
    /// The live updates by their names.
    public var cards: [String: Card] = [:]
    /// The last requests, oldest first.
    public var history: [Delivery] = []

    public struct Card: Sendable, Hashable {
        /// Whether it was started and has not ended.
        public var isActive: Bool
        public var type: String?
        /// Event and second of the message that the phone took last. Nil: it shows nothing.
        public var event: String?
        public var timestamp: Int?
        /// Raw JSON, as sent.
        public var contentState: String?
        public var dismissalDate: Int?
        public var starts: Int
        /// The greatest order that it showed, and how often a lower one came later. Nil without `orderMember`.
        public var newest: Int?
        public var backwards: Int?
    }

    public struct Delivery: Sendable, Hashable, Encodable {
        /// Milliseconds since 1970, by the simulator's clock.
        public var at: Int
        /// When the request was read. `at` is when it was checked, after the simulator's latency.
        public var arrivedAt: Int
        /// The HTTP status of the answer. Nil without one.
        public var status: Int?
        public var reason: String?
        /// Whether the phone gets the message, with an answer or (by a fault) without one.
        public var reached: Bool
        public var isHigh: Bool
        public var ttl: Double?
        public var collapseKey: String?
        public var canonicalID: String?
        public var name: String?
        public var event: String?
        public var timestamp: Int?
        public var order: Int?
        /// The client's port. It tells connections apart, and so senders.
        public var port: Int

        enum CodingKeys: String, CodingKey {
            case status, reason, reached, ttl, name, event, timestamp, order, port
            case at = "at_ms"
            case arrivedAt = "arrived_at_ms"
            case isHigh = "high"
            case collapseKey = "collapse_key"
            case canonicalID = "canonical_id"
        }
    }
}

/// Written without an encoder, because `content_state` is raw JSON.
extension FCMReport {
    /// One object on one line.
    var json: [UInt8] {
        var out = #"{"\#(kind)":"\#(address)","count":\#(requests),"accepted":\#(accepted),"shown":\#(shown)"#
        out += #","duplicates":\#(duplicates),"dropped_by_device":\#(droppedByDevice)"#
        out += #","ignored_by_device":\#(ignoredByDevice),"dead_answers":\#(deadAnswers)"#
        if let channel { out += #","channel":\#(JSON.quoted(channel))"# }
        let cards = cards.sorted { $0.key < $1.key }.map { "\(JSON.quoted($0.key)):\($0.value.json)" }
        return Array(out.utf8) + Array(#","cards":{\#(cards.joined(separator: ","))}}"#.utf8)
    }

    /// The same, with the history.
    var detailedJSON: [UInt8] {
        json.dropLast() + Array(#","history":"#.utf8) + JSON.encode(history) + Array("}\n".utf8)
    }
}

extension FCMReport.Card {
    fileprivate var json: String {
        var out = #"{"active":\#(isActive),"starts":\#(starts)"#
        if let type { out += #","type":\#(JSON.quoted(type))"# }
        if let event { out += #","event":"\#(event)""# }
        if let timestamp { out += #","timestamp":\#(timestamp)"# }
        if let contentState { out += #","content_state":\#(contentState.replacingLineBreaks)"# }
        if let dismissalDate { out += #","dismissal_date":\#(dismissalDate)"# }
        if let newest { out += #","newest":\#(newest),"backwards":\#(backwards ?? 0)"# }
        return out + "}"
    }
}
