/// How many requests one connection may have in flight where the server's limit is known (SETTINGS): one until an answer
/// has shown that the provider token is good, as APNs wants it; some more with each answer, so that a connection that
/// breaks at once costs little and one that works is fully used within three round trips; fewer while answers come late
/// or streams are refused.
struct StreamAllowance: Sendable, Hashable {
    /// Late answers close places no further than this: enough to keep a lane busy, few enough to be answered in time.
    static let leastForLateness = 100

    /// Places that an answer opens.
    static let step = 8

    let maximum: Int
    /// What we allow ourselves.
    private(set) var own = 1

    init(maximum: Int) { self.maximum = max(1, maximum) }

    func size(serverLimit: Int) -> Int { min(own, serverLimit) }

    /// Answers in time open nothing more.
    func isFull(serverLimit: Int) -> Bool { own >= min(maximum, serverLimit) }

    /// An answer has come. One that our credentials spoilt (403) opens nothing. One that took a good part of its deadline
    /// closes a place: more in flight than this machine or the server gets through only ends in timeouts, and a request
    /// that timed out may be delivered twice.
    mutating func answered(isAuthenticated: Bool, isLate: Bool, serverLimit: Int) {
        guard isAuthenticated else { return }
        if isLate {
            // A limit of one is a server's answer to a rejected push, and no measure of what is too much.
            let size = serverLimit > 1 ? size(serverLimit: serverLimit) : own
            own = max(min(size, Self.leastForLateness), size - 1)
        } else if own < min(maximum, serverLimit) {
            own = min(maximum, serverLimit, own + Self.step)
        }
    }

    /// The server refused a stream that its limit allowed: one place fewer. False when there was only one: the connection
    /// is of no use.
    mutating func refused(serverLimit: Int) -> Bool {
        let size = size(serverLimit: serverLimit)
        own = max(1, size - 1)
        return size > 1
    }

    /// The connection has rested so long that it may be dead: begin with one request.
    mutating func rested() { own = 1 }
}
