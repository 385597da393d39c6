/// Everything that one token received.
public struct TokenReport: Sendable, Hashable {
    /// Lowercase hex.
    public var token: String
    public var requests = 0
    public var accepted = 0
    /// The same as in `SimulatorRecord`, for this token.
    public var duplicates = 0
    public var outOfOrder = 0
    public var droppedByDevice = 0
    public var afterEnd = 0
    public var ignoredByDevice = 0
    /// Responses that call the token dead: both 410s, BadDeviceToken and DeviceTokenNotForTopic.
    public var deadAnswers = 0
    /// The greatest order that reached the token, and how often a lower one came after it. Nil without `orderMember`.
    public var newest: Int?
    public var backwards: Int?
    /// How many activities starts created. Activities with the same `apns-collapse-id` count once. Nil if none.
    public var cards: Int?
    /// The card as the device shows it: timestamp (epoch seconds) and event of the newest push that the device used,
    /// and the newest state. An `end` without a state leaves the state as it was.
    public var timestamp: Int?
    public var event: String?
    /// Raw JSON, as sent.
    public var contentState: String?
    /// Values that came with that state: the alert as raw JSON, and when the card disappears (epoch seconds).
    public var alert: String?
    public var dismissalDate: Int?
    /// The last requests, oldest first.
    public var history: [Delivery] = []

    public struct Delivery: Sendable, Hashable, Encodable {
        /// Milliseconds since 1970, by the simulator's clock.
        public var at: Int
        /// When the request was read. `at` is when it was checked, after the simulator's latency.
        public var arrivedAt: Int
        /// The HTTP status of the response. Nil without a response (stalled or reset).
        public var status: Int?
        public var reason: String?
        /// The `apns-id` of the response.
        public var id: String
        public var timestamp: Int?
        public var event: String?
        /// A number that equal payloads share, in the order of their first appearance.
        public var payload: Int?
        /// Whether the device got the push, with a response or (by a fault) without one.
        public var reached: Bool
        public var order: Int?
        /// The client's port. It tells connections apart, and so senders.
        public var port: Int
        public var collapseID: String?
        /// The broadcast channel of a start.
        public var inputChannel: String?
        /// Epoch seconds.
        public var dismissalDate: Int?

        enum CodingKeys: String, CodingKey {
            case status, reason, timestamp, event, payload, reached, order, port
            case collapseID, inputChannel, dismissalDate
            case at = "at_ms"
            case arrivedAt = "arrived_at_ms"
            case id = "apns_id"
        }
    }
}
