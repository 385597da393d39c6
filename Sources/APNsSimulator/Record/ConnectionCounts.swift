/// Counts of connections and of the requests on them, which each service of the simulator has.
protocol ConnectionCounts {
    var unprocessed: Int { get set }
    var cancelled: Int { get set }
    var goaways: Int { get set }
    var excessStreams: Int { get set }
    var connections: Int { get set }
    var openConnections: Int { get set }
    var inFlight: Int { get set }
    var maximumInFlight: Int { get set }
    var firstRequestAtMs: Int? { get set }
    var lastRequestAtMs: Int? { get set }
}

extension ConnectionCounts {
    /// Notes a new connection and returns its number.
    mutating func connect() -> Int {
        connections += 1
        openConnections += 1
        return connections
    }

    /// - Parameter lost: how many requests had no answer yet
    mutating func disconnect(lost: Int) {
        openConnections -= 1
        inFlight -= lost
    }

    /// - Parameter inFlight: how many requests of the connection now wait
    mutating func noteArrival(inFlight waiting: Int, now: Int) {
        inFlight += 1
        if waiting > maximumInFlight { maximumInFlight = waiting }
        if firstRequestAtMs == nil { firstRequestAtMs = now }
        lastRequestAtMs = now
    }

    mutating func note(_ event: ConnectionEvent) {
        switch event {
        case .cancelled:
            cancelled += 1
            inFlight -= 1
        case .unprocessed: unprocessed += 1
        case .excess:
            excessStreams += 1
            unprocessed += 1
        case .goaway: goaways += 1
        case .abandoned(let count):
            unprocessed += count
            inFlight -= count
        }
    }
}

/// An event on a connection that a record counts.
enum ConnectionEvent: Sendable {
    /// The client reset a request before its answer.
    case cancelled
    /// A request came after our GOAWAY.
    case unprocessed
    /// The client opened more streams than allowed.
    case excess
    case goaway
    /// Requests that arrived, but get no answer.
    case abandoned(Int)
}
