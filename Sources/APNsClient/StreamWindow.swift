/// How many requests one connection may have in flight. libcurl does not tell the server's limit, so it is inferred:
/// from 1 (APNs allows one stream until a valid token has passed), one more per answer, until the connection takes no
/// more; then that many, with a careful look for more now and then.
struct StreamWindow: Sendable, Hashable {
    /// Late answers shrink the window no further than this: enough to keep a lane busy, few enough to be answered in time.
    static let leastForLateness = 100
    /// Answers between two looks for more, in windows: each look costs one request handed over in vain.
    static let windowsBetweenLooks = 10

    let maximum: Int
    private(set) var size = 1
    /// Answers to come before the next look for more; nil while no limit is known.
    private(set) var patience: Int?

    init(maximum: Int) { self.maximum = max(1, maximum) }

    func allows(inFlight: Int) -> Bool { inFlight < size }

    /// An answer has come. One that our credentials spoilt (403) opens nothing. One that took a good part of its deadline
    /// closes a place: more in flight than this machine or the server gets through only ends in timeouts, and a request
    /// that timed out may be delivered twice.
    mutating func answered(isAuthenticated: Bool, isLate: Bool = false) {
        guard isAuthenticated else { return }
        if isLate {
            size = max(min(size, Self.leastForLateness), size - 1)
            return
        }
        if let left = patience, left > 1 {
            patience = left - 1
        } else {
            patience = nil
            size = min(maximum, size + 1)
        }
    }

    /// The connection took no more requests while `streams` were in use on it.
    mutating func refused(streams: Int) {
        // Fewer in use than were allowed before: the limit has fallen, how far is not known. Otherwise this is the limit.
        size = streams < size && patience != nil ? max(1, streams / 2) : max(1, min(size, streams))
        patience = max(16, size * Self.windowsBetweenLooks)
    }

    /// The connection has rested so long that it may be dead or limited to one stream again: begin with one request.
    mutating func rested() {
        size = 1
        patience = nil
    }
}
