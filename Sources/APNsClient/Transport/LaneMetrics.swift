internal import Metrics

/// The names of the metrics that this target defines. Each worker counts its own connections.
public enum LaneMetricName: String, CaseIterable, Sendable {
    case roundTrip = "lamplighter_apns_round_trip_seconds"
    case inFlight = "lamplighter_apns_requests_in_flight"
    case leftOpen = "lamplighter_apns_requests_left_open_total"
    case streams = "lamplighter_apns_streams_allowed"
    case connections = "lamplighter_apns_connections"
    case opened = "lamplighter_apns_connections_opened_total"
    case ended = "lamplighter_apns_connections_ended_total"
    case failures = "lamplighter_apns_connection_failures_total"
    case tokenIssued = "lamplighter_provider_token_issued_timestamp_seconds"
    case tokenRenewals = "lamplighter_provider_token_renewals_total"
}

/// The handles of one app's metrics. All of its lanes share them. Lanes call them once for a part of a page or for a
/// wake-up, never for each request, because each call takes a lock.
struct LaneMetrics: Sendable {
    /// Why a connection that had answered takes no more requests.
    enum EndCause: String, CaseIterable {
        /// APNs told it to go away.
        case goaway
        /// No answer came for too long.
        case silent
        /// The connection started no request although some waited.
        case full
        /// APNs refused every stream.
        case refused
        /// An answer asked for a new connection.
        case answer
        /// The network or the other side broke it.
        case lost
        /// The worker ended it.
        case closed
    }
    enum RenewalCause: String, CaseIterable {
        /// The token was old enough, or the first one.
        case due
        /// APNs called it expired.
        case rejected
        /// APNs called a new one too many, so the one before is used.
        case fallback
    }

    private let roundTrip: Timer
    private let inFlight: Meter
    private let streams: Meter
    private let open: Counter
    private let connections: Meter
    private let openings: Counter
    private let endings: [EndCause: Counter]
    private let failures: [String: Counter]
    private let issued: Meter
    private let renewals: [RenewalCause: Counter]

    init(app: String) {
        let labels = [("app", app)]
        func counter(_ name: LaneMetricName, _ cause: String) -> Counter {
            Counter(label: name.rawValue, dimensions: labels + [("cause", cause)])
        }
        roundTrip = Timer(label: LaneMetricName.roundTrip.rawValue, dimensions: labels)
        inFlight = Meter(label: LaneMetricName.inFlight.rawValue, dimensions: labels)
        open = Counter(label: LaneMetricName.leftOpen.rawValue, dimensions: labels)
        streams = Meter(label: LaneMetricName.streams.rawValue, dimensions: labels)
        connections = Meter(label: LaneMetricName.connections.rawValue, dimensions: labels)
        openings = Counter(label: LaneMetricName.opened.rawValue, dimensions: labels)
        endings = Dictionary(uniqueKeysWithValues: EndCause.allCases.map { ($0, counter(.ended, $0.rawValue)) })
        failures = Dictionary(
            uniqueKeysWithValues: ["timeout", "tls", "failed"].map { ($0, counter(.failures, $0)) })
        issued = Meter(label: LaneMetricName.tokenIssued.rawValue, dimensions: labels)
        renewals = Dictionary(
            uniqueKeysWithValues: RenewalCause.allCases.map { ($0, counter(.tokenRenewals, $0.rawValue)) })
    }

    /// Notes how long the last request of a part took.
    func answered(after milliseconds: Int64) { roundTrip.recordMilliseconds(milliseconds) }

    /// Adds a lane's changes since its last wake-up.
    func changed(inFlight: Int, streams: Int) {
        if inFlight != 0 { self.inFlight.increment(by: Double(inFlight)) }
        if streams != 0 { self.streams.increment(by: Double(streams)) }
    }

    /// Pages do not wait any more for the answers to so many requests.
    func leftOpen(_ requests: Int) { open.increment(by: requests) }

    /// A connection brought its first answer.
    func opened() {
        openings.increment()
        connections.increment()
    }

    /// A connection that had answered takes no more requests.
    func ended(_ cause: EndCause) {
        endings[cause]?.increment()
        connections.decrement()
    }

    /// No connection could be made, or it brought no answer.
    func failed(isTimeout: Bool = false, isTLS: Bool = false) {
        failures[isTLS ? "tls" : isTimeout ? "timeout" : "failed"]?.increment()
    }

    /// - Parameter time: when the token was signed, epoch seconds
    func adoptedToken(issuedAt time: Int, _ cause: RenewalCause) {
        issued.set(Double(time))
        renewals[cause]?.increment()
    }
}
