/// How many requests one connection may have in flight. libcurl does not tell the server's limit, so it is inferred from
/// what the connection takes: from 1 (APNs allows one stream until a valid token has passed) it opens by `step` with each
/// answer, until the connection takes no more; then that many, with a look for one more now and then.
///
/// Field: APNs falls to one stream after a rejected notification and comes back with the next accepted one. A limit met
/// right after a rejection is therefore no measure of the connection; from then on the window shuts with each rejection
/// and opens whole with the next acceptance, as the server does.
struct StreamWindow: Sendable, Hashable {
    enum Answer: Sendable, Hashable {
        case accepted
        /// The token's fault or the push's: the provider token was good.
        case rejected
        /// 403: opens nothing.
        case unauthenticated
    }

    /// Places that an answer opens. A window of 1 is past 100 within two round trips and past 1,000 within three.
    static let step = 8
    /// Late answers shrink the window no further than this: enough to keep a lane busy, few enough to be answered in time.
    static let leastForLateness = 100
    /// The longest time between two looks for more, in windows of answers: each look costs one request handed over in vain.
    static let windowsBetweenLooks = 10

    let maximum: Int
    /// What the connection takes when the server has not shut it.
    private(set) var limit = 1
    /// The server has fallen to one stream until its next acceptance.
    private(set) var isShut = false
    /// It has been seen to do so.
    private(set) var shutsOnRejection = false
    /// Answers to come before the next look for more; nil while no limit is known.
    private(set) var patience: Int?
    /// How long the next patience is: twice as long after each look in vain.
    private var nextPatience = 2
    private var lastAnswer = Answer.accepted
    /// Streams that were in use when the connection took no more; nil when it has taken more since.
    private var refusedAt: Int?

    init(maximum: Int) { self.maximum = max(1, maximum) }

    var size: Int { isShut ? 1 : limit }

    func allows(inFlight: Int) -> Bool { inFlight < size }

    /// An answer has come. One that took a good part of its deadline closes a place: more in flight than this machine or
    /// the server gets through only ends in timeouts, and a request that timed out may be delivered twice.
    mutating func answered(_ answer: Answer, isLate: Bool = false) {
        lastAnswer = answer
        switch answer {
        case .unauthenticated: return
        case .accepted: isShut = false
        case .rejected: isShut = shutsOnRejection
        }
        if isLate {
            limit = max(min(limit, Self.leastForLateness), limit - 1)
        } else if !isShut {
            open()
        }
    }

    private mutating func open() {
        guard let left = patience else {
            // A look for more is on its way, or no limit has been met yet.
            guard refusedAt == nil else { return }
            limit = min(maximum, limit == 1 ? 2 * Self.step : limit + Self.step)
            return
        }
        patience = left - 1
        guard left <= 1 else { return }
        patience = nil
        nextPatience = min(2 * nextPatience, max(16, limit * Self.windowsBetweenLooks))
        limit = min(maximum, limit + 1)
    }

    /// The connection took no more requests while `streams` were in use on it.
    mutating func refused(streams: Int) {
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

    /// So many streams are in use: where it was full before, the connection takes more again.
    mutating func uses(streams: Int) {
        guard let refusedAt, streams > refusedAt else { return }
        self.refusedAt = nil
        patience = nil
        nextPatience = 2
    }

    /// The connection has rested so long that it may be dead or limited to one stream again: begin with one request.
    mutating func rested() {
        let shuts = shutsOnRejection
        self = StreamWindow(maximum: maximum)
        shutsOnRejection = shuts
    }
}
