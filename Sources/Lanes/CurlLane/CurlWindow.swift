/// How many requests one connection may have in flight. libcurl does not report the server's limit, so the window
/// infers it. It begins with 1, because APNs allows one stream until a valid credential has passed. Each answer adds
/// `step` streams, until the connection accepts no more. Then the window stays there, and tries one more now and then.
/// Seen in the field: APNs falls to one stream after a rejected notification, and comes back with the next accepted
/// one. So a limit that is met right after a rejection does not measure the connection. From then on the window shuts
/// with each rejection and opens fully with the next acceptance, as the server does.
struct CurlWindow: Sendable, Hashable {
    enum Answer: Sendable, Hashable {
        case accepted
        /// The token or the push was at fault; the credential was good.
        case rejected
        /// 401 or 403: adds no streams.
        case unauthenticated
    }

    /// How many streams an answer adds. A window of 1 exceeds 100 within two round trips and 1,000 within three.
    static let step = 8
    /// Late answers shrink the window no further. So many keep a lane busy, and are few enough to be answered in time.
    static let leastForLateness = 100
    /// The longest time between two tries for more, in windows of answers. Each try costs one refused request.
    static let windowsBetweenLooks = 10

    let maximum: Int
    /// How many requests the connection accepts while the server has not shut it.
    private(set) var limit = 1
    /// The server has fallen to one stream until it accepts a push again.
    private(set) var isShut = false
    /// The server was seen to do so.
    private(set) var shutsOnRejection = false
    /// Answers to come before the next try for more; nil while no limit is known.
    private(set) var patience: Int?
    /// The next value of `patience`. It doubles after each try that the connection refuses.
    private var nextPatience = 2
    private var lastAnswer = Answer.accepted
    private var hasAnswer = false
    /// The server refused streams before the first answer.
    private var wasRefused = false
    /// Streams that were in use when the connection accepted no more; nil if it has accepted more since.
    private var refusedAt: Int?

    init(maximum: Int) { self.maximum = max(1, maximum) }

    var size: Int { isShut ? 1 : limit }
    func allows(inFlight: Int) -> Bool { inFlight < size }

    /// Notes an answer. A late one removes a stream from a large window: too many requests in flight only end in
    /// timeouts, and a request that timed out may be delivered twice. It opens a small one: so few requests are not why
    /// it was late.
    /// - Parameter isLate: the answer took a good part of its request's time
    mutating func answered(_ answer: Answer, isLate: Bool = false) {
        lastAnswer = answer
        switch answer {
        case .unauthenticated: return
        case .accepted: isShut = false
        case .rejected: isShut = shutsOnRejection
        }
        hasAnswer = true
        if isLate, limit > Self.leastForLateness {
            limit -= 1
        } else if !isShut {
            open(most: isLate ? min(maximum, Self.leastForLateness) : maximum)
        }
    }

    /// Adds streams although no answer came. False if the connection took no more before.
    mutating func widen() -> Bool {
        guard !hasAnswer, !wasRefused else { return false }
        let before = limit
        open(most: min(maximum, Self.leastForLateness))
        return limit > before
    }

    private mutating func open(most: Int) {
        guard let left = patience else {
            // Wait if a try for more is under way. Otherwise no limit has been met yet.
            guard refusedAt == nil else { return }
            limit = max(limit, min(most, limit == 1 ? 2 * Self.step : limit + Self.step))
            return
        }
        patience = left - 1
        guard left <= 1 else { return }
        patience = nil
        nextPatience = min(2 * nextPatience, max(16, limit * Self.windowsBetweenLooks))
        limit = max(limit, min(most, limit + 1))
    }

    /// Notes that the connection accepted no more requests while `streams` were in use on it.
    mutating func refused(streams: Int) {
        guard hasAnswer else {
            // The server allows one stream until the first answer. This limit is no measure of the connection.
            (limit, wasRefused) = (1, true)
            return
        }
        guard !isShut else { return }
        let isFirst = refusedAt == nil
        refusedAt = streams
        if lastAnswer == .rejected, isFirst, streams < limit {
            shutsOnRejection = true
            isShut = true
            return
        }
        limit = max(1, min(limit, streams))
        patience = patience ?? nextPatience
    }

    /// Notes how many streams are in use. If there are more than when it was full, the connection accepts more again.
    mutating func uses(streams: Int) {
        guard let refusedAt, streams > refusedAt else { return }
        self.refusedAt = nil
        patience = nil
        nextPatience = 2
    }

    /// Begins with one request again. A connection that was idle long may be dead, or limited to one stream.
    mutating func wasIdle() {
        let shuts = shutsOnRejection
        self = CurlWindow(maximum: maximum)
        shutsOnRejection = shuts
    }
}
