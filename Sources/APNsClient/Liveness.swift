/// Whether a connection still lives. Times are monotonic milliseconds. A PING asks when requests wait and nothing comes,
/// and now and then when all is quiet, which also keeps gateways on the way from forgetting the connection.
struct Liveness: Sendable, Hashable {
    /// Below the shortest time after which common gateways forget a quiet connection (350 s).
    static let quietMilliseconds: Int64 = 300_000

    enum Action: Hashable {
        case ping
        /// Nothing has come since the PING: no more requests for this connection.
        case retire
    }

    /// Of one request.
    let timeout: Int64
    private(set) var lastHeard: Int64
    private(set) var pingedAt: Int64?
    /// `retire` was said: requests in flight have their own deadlines, and nothing else is left to do.
    private var isGivenUp = false

    init(timeout: Int64, now: Int64) {
        self.timeout = timeout
        lastHeard = now
    }

    /// Bytes have come, whatever they say.
    mutating func heard(now: Int64) {
        lastHeard = now
        pingedAt = nil
    }

    /// A request begins after a quiet time: silence counts from here.
    mutating func began(now: Int64) {
        if pingedAt == nil { lastHeard = now }
    }

    /// When there is something to do next if nothing comes before. `isWaiting`: requests are in flight.
    func next(isWaiting: Bool) -> Int64 {
        // A time that has passed would keep the lane awake.
        if isGivenUp { return .max }
        if let pingedAt { return pingedAt + patience(isWaiting) }
        return lastHeard + (isWaiting ? patience(true) : Self.quietMilliseconds)
    }

    mutating func action(now: Int64, isWaiting: Bool) -> Action? {
        guard now >= next(isWaiting: isWaiting) else { return nil }
        guard pingedAt == nil else {
            isGivenUp = true
            return .retire
        }
        pingedAt = now
        return .ping
    }

    /// A quarter of a request's time while requests wait: the PING and its answer leave half of it.
    private func patience(_ isWaiting: Bool) -> Int64 { isWaiting ? max(1, timeout / 4) : timeout }
}
