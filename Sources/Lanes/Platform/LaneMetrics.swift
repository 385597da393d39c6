internal import Metrics

/// The names of the metrics that this target defines, behind `lamplighter_` and the platform's label. Each worker
/// counts its own connections.
public enum LaneMetricName: String, CaseIterable, Sendable {
    case roundTrip = "round_trip_seconds"
    case inFlight = "requests_in_flight"
    case leftOpen = "requests_left_open_total"
    case streams = "streams_allowed"
    case connections = "connections"
    case opened = "connections_opened_total"
    case ended = "connections_ended_total"
    case failures = "connection_failures_total"

    /// The whole name, as it is exported.
    public func name(for platform: PlatformName) -> String { "lamplighter_\(platform.label)_\(rawValue)" }
}

/// The handles of one app's metrics. All of its lanes share them. Lanes call them once for a part of a page or for a
/// wake-up, never for each request, because each call takes a lock.
struct LaneMetrics: Sendable {
    /// Why a connection that had answered takes no more requests.
    enum EndCause: String, CaseIterable {
        /// The server told it to go away.
        case goaway
        /// No answer came for too long.
        case silent
        /// The connection started no request although some waited.
        case full
        /// The server refused every stream.
        case refused
        /// An answer asked for a new connection.
        case answer
        /// The network or the other side broke it.
        case lost
        /// The worker ended it.
        case closed
    }

    private let roundTrip: Timer
    private let inFlight: Meter
    private let streams: Meter
    private let open: Counter
    private let connections: Meter
    private let openings: Counter
    private let endings: [EndCause: Counter]
    private let failures: [String: Counter]

    init(_ platform: PlatformName, app: String) {
        let labels = [("app", app)]
        func counter(_ name: LaneMetricName, _ cause: String) -> Counter {
            Counter(label: name.name(for: platform), dimensions: labels + [("cause", cause)])
        }
        roundTrip = Timer(label: LaneMetricName.roundTrip.name(for: platform), dimensions: labels)
        inFlight = Meter(label: LaneMetricName.inFlight.name(for: platform), dimensions: labels)
        open = Counter(label: LaneMetricName.leftOpen.name(for: platform), dimensions: labels)
        streams = Meter(label: LaneMetricName.streams.name(for: platform), dimensions: labels)
        connections = Meter(label: LaneMetricName.connections.name(for: platform), dimensions: labels)
        openings = Counter(label: LaneMetricName.opened.name(for: platform), dimensions: labels)
        endings = Dictionary(uniqueKeysWithValues: EndCause.allCases.map { ($0, counter(.ended, $0.rawValue)) })
        failures = Dictionary(
            uniqueKeysWithValues: ["timeout", "tls", "failed"].map { ($0, counter(.failures, $0)) })
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
}
