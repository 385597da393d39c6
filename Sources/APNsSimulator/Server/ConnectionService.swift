internal import NIOCore

/// A service's part in one of its connections. `ConnectionHandler` calls it on the connection's event loop.
protocol ConnectionService: AnyObject {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` of a new connection.
    var initialStreams: Int { get }
    /// The most bytes of a request's body that are kept.
    var keptBody: Int { get }
    /// The reaction to more streams than the limit, and its GOAWAY.
    var excess: (reaction: ExcessStreams, code: HTTP2ErrorCode, reason: String) { get }

    /// Whether a client may come without h2.
    var speaksHTTP1: Bool { get }

    /// - Parameter port: the client's
    func connect(port: UInt16)
    /// - Parameter lost: how many requests had no answer yet
    func disconnect(lost: Int)
    /// The fault with which the connection begins after its TLS handshake.
    func greet() -> Orders.Fault?
    func note(_ event: ConnectionEvent)
    /// The debug data of a GOAWAY.
    func goawayText(_ reason: String) -> String
    /// A request was read to its end, and `inFlight` of the connection now wait.
    func arrive(_ stream: HTTP2Session.Stream, inFlight: Int) -> Orders
    /// Decides about a request, after the latency of its orders.
    /// - Parameter arrivedAt: milliseconds since 1970
    func answer(_ stream: HTTP2Session.Stream, _ orders: Orders, arrivedAt: Int) -> ServiceAnswer
}

/// The end of one request.
struct ServiceAnswer: Sendable {
    enum End: Sendable {
        case response(
            status: Int, id: MessageID?, idName: StaticString, fields: [(name: String, value: String)], body: [UInt8])
        /// The stream ends with RST_STREAM.
        case reset(ResetCode)
        /// The request never gets a response.
        case stalled
    }

    var end: End
    /// New stream limits to announce before the response.
    var announced: [Int] = []
}
