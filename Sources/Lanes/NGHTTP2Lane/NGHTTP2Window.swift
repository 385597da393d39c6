/// How many requests one connection may have in flight, if the server's limit is known (SETTINGS). It begins with one,
/// until an answer has shown that the credential is good, as APNs wants it. Each answer adds some. So a connection
/// that breaks at once costs little, and one that works is fully used within three round trips. The window shrinks
/// while answers come late or streams are refused.
struct NGHTTP2Window: Sendable, Hashable {
    /// Late answers shrink the window no further. So many keep a lane busy, and are few enough to be answered in time.
    static let leastForLateness = 100
    /// How many streams an answer adds.
    static let step = 8

    let maximum: Int
    /// The lane's own limit.
    private(set) var own = 1

    init(maximum: Int) { self.maximum = max(1, maximum) }

    func size(serverLimit: Int) -> Int { min(own, serverLimit) }

    /// Notes an answer. A 403 adds no stream, because our credentials are at fault. A late answer removes a stream from
    /// a large window: too many requests in flight only end in timeouts, and a request that timed out may be delivered
    /// twice. It opens a small one: so few requests are not why it was late.
    /// - Parameter isLate: the answer took a good part of its request's time
    mutating func answered(isAuthenticated: Bool, isLate: Bool, serverLimit: Int) {
        guard isAuthenticated else { return }
        // Ignore a limit of one. A server sends it after each rejected push, whatever its load.
        let size = serverLimit > 1 ? size(serverLimit: serverLimit) : own
        if isLate, size > Self.leastForLateness {
            own = size - 1
        } else {
            open(serverLimit: serverLimit, most: isLate ? min(maximum, Self.leastForLateness) : maximum)
        }
    }

    /// Adds streams although no answer came, because the server lives. False if it takes no more.
    mutating func widen(serverLimit: Int) -> Bool {
        let before = own
        open(serverLimit: serverLimit, most: min(maximum, Self.leastForLateness))
        return own > before
    }

    private mutating func open(serverLimit: Int, most: Int) {
        if own < min(most, serverLimit) { own = min(most, serverLimit, own + Self.step) }
    }

    /// Removes a stream, because the server refused one that its limit allowed. False when there was only one.
    mutating func refused(serverLimit: Int) -> Bool {
        let size = size(serverLimit: serverLimit)
        own = max(1, size - 1)
        return size > 1
    }

    /// Begins with one request again, because the connection was idle so long that it may be dead.
    mutating func wasIdle() { own = 1 }
}
