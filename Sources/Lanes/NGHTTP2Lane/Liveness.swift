/// Decides whether a connection still lives. It asks for a PING when requests wait and nothing comes, and now and then
/// on a quiet connection, so that gateways on the way do not forget it. Times are monotonic milliseconds.
struct Liveness: Sendable, Hashable {
    /// Below the shortest time after which common gateways forget a quiet connection (350 s).
    static let quietMilliseconds: Int64 = 300_000

    enum Action: Hashable {
        case ping
        /// Nothing has come since the PING, so the connection gets no more requests.
        case retire
    }

    /// The time that one request may take.
    let timeout: Int64
    private(set) var lastHeard: Int64
    private(set) var pingedAt: Int64?
    /// `retire` was returned. Requests in flight have their own deadlines, so nothing else is left to do.
    private var isGivenUp = false

    init(timeout: Int64, now: Int64) {
        self.timeout = timeout
        lastHeard = now
    }

    /// Notes that bytes have come, whatever they contain.
    mutating func heard(now: Int64) {
        lastHeard = now
        pingedAt = nil
    }

    /// Notes that a request begins after a quiet time. Silence counts from here.
    mutating func began(now: Int64) { if pingedAt == nil { lastHeard = now } }

    /// When `action` is due if nothing comes before. `isWaiting`: requests are in flight.
    func next(isWaiting: Bool) -> Int64 {
        // A time in the past would keep the lane awake.
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

    /// Asks for a PING now, unless one is on its way.
    mutating func asks(now: Int64) -> Bool {
        guard pingedAt == nil, !isGivenUp else { return false }
        pingedAt = now
        return true
    }

    /// How long to wait for bytes. With requests in flight it is a quarter of their time, so half is left after a PING.
    private func patience(_ isWaiting: Bool) -> Int64 { isWaiting ? max(1, timeout / 4) : timeout }
}
