/// What the simulator saw since its start or the last reset. JSON in snake case from `GET /simulator/record`.
public struct SimulatorRecord: Sendable, Hashable, Codable {
    /// Requests read to their end.
    public var requests = 0
    /// Answers 200; `acceptedTokens` counts the different tokens among them (0 in fast mode).
    public var accepted = 0
    public var acceptedTokens = 0
    /// Different tokens of well-formed requests, whatever the answer (0 in fast mode).
    public var tokens = 0
    public var byStatus: [String: Int] = [:]
    public var byReason: [String: Int] = [:]
    /// Accepted requests whose token had accepted the very same payload among its last `history` requests.
    public var duplicates = 0
    /// Accepted requests with a timestamp lower than the newest the token had.
    public var outOfOrder = 0
    /// Accepted requests with a lower order than the token had (`orderMember`; 0 without one).
    public var backwards = 0
    /// Accepted, then dropped by the device because it had a newer timestamp.
    public var droppedByDevice = 0
    /// Accepted after the activity's `end`; the device drops these.
    public var afterEnd = 0
    /// Accepted, then ignored by the device because of the payload, by what is wrong with it.
    public var ignoredByDevice: [String: Int] = [:]
    /// Taken for the device, but reset or left without an answer on purpose (not in `accepted`).
    public var acceptedUnanswered = 0
    /// Requests left without an answer, and streams reset, on purpose.
    public var stalled = 0
    public var reset = 0
    /// Requests never processed: above a GOAWAY's last stream id, or refused.
    public var unprocessed = 0
    /// Streams that the client reset before its answer.
    public var cancelled = 0
    public var goaways = 0
    /// GOAWAYs and refusals because a client passed its stream limit (among `goaways` and `unprocessed` too).
    public var excessStreams = 0
    /// Different provider tokens whose signature was good, over all connections.
    public var providerTokens = 0
    public var connections = 0
    public var openConnections = 0
    public var inFlight = 0
    /// The most on one connection.
    public var maximumInFlight = 0
    /// Milliseconds since 1970 of the first and the last request.
    public var firstRequestAt: Int?
    public var lastRequestAt: Int?
    /// The scenario's phase in force, from 0; nil before the first one or without a scenario.
    public var phase: Int?

    /// What went to channels, none of it in the counts above but those of connections.
    public var broadcasts = BroadcastRecord()

    public init() {}

    enum CodingKeys: String, CodingKey, CaseIterable {
        case broadcasts, requests, accepted, tokens, duplicates, backwards, stalled, reset, unprocessed, cancelled,
            goaways,
            connections, phase
        case acceptedTokens = "accepted_tokens"
        case byStatus = "by_status"
        case byReason = "by_reason"
        case outOfOrder = "out_of_order"
        case droppedByDevice = "dropped_by_device"
        case afterEnd = "after_end"
        case ignoredByDevice = "ignored_by_device"
        case acceptedUnanswered = "accepted_unanswered"
        case excessStreams = "excess_streams"
        case providerTokens = "provider_tokens"
        case openConnections = "open_connections"
        case inFlight = "in_flight"
        case maximumInFlight = "maximum_in_flight"
        case firstRequestAt = "first_request_at_ms"
        case lastRequestAt = "last_request_at_ms"
    }
}

/// What one token received.
public struct TokenReport: Sendable, Hashable {
    /// Lowercase hex.
    public var token: String
    public var requests = 0
    public var accepted = 0
    /// As in `SimulatorRecord`.
    public var duplicates = 0
    public var outOfOrder = 0
    public var droppedByDevice = 0
    public var afterEnd = 0
    public var ignoredByDevice = 0
    /// Answers that call the token dead: both 410s, BadDeviceToken and DeviceTokenNotForTopic.
    public var deadAnswers = 0
    /// The greatest order that reached it, and how often a lower one did afterwards; nil without `orderMember`.
    public var newest: Int?
    public var backwards: Int?
    /// Activities that starts made of it, those of one `apns-collapse-id` counted once; nil: none.
    public var cards: Int?
    /// The card as the device shows it: timestamp (epoch seconds) and event of the newest push that it took, and the newest
    /// state. An `end` without a state leaves the state as it was.
    public var timestamp: Int?
    public var event: String?
    /// Raw JSON, as sent.
    public var contentState: String?
    /// What came with that state: the alert as raw JSON, and when the card goes away (epoch seconds).
    public var alert: String?
    public var dismissalDate: Int?
    /// The last requests, oldest first.
    public var history: [Delivery] = []

    public struct Delivery: Sendable, Hashable, Codable {
        /// Milliseconds since 1970, by the simulator's clock.
        public var at: Int
        /// When the request was read; `at` is when it was judged, after the simulator's latency.
        public var arrivedAt: Int
        /// nil: no answer (stalled or reset).
        public var status: Int?
        public var reason: String?
        /// `apns-id` of the answer.
        public var id: String
        public var timestamp: Int?
        public var event: String?
        /// The same for equal payloads, in order of their first appearance.
        public var payload: Int?
        /// Whether the device got it: with an answer or, by a fault, without one.
        public var reached: Bool
        public var order: Int?
        /// The client's port: tells connections, and so senders, apart.
        public var port: Int
        public var collapseID: String?
        /// Of a start.
        public var inputChannel: String?
        /// Epoch seconds.
        public var dismissalDate: Int?

        enum CodingKeys: String, CodingKey {
            case status, reason, timestamp, event, payload, reached, order, port
            case at = "at_ms"
            case arrivedAt = "arrived_at_ms"
            case id = "apns_id"
            case collapseID = "collapse_id"
            case inputChannel = "input_channel"
            case dismissalDate = "dismissal_date"
        }
    }

    public init(token: String) {
        self.token = token
    }
}
