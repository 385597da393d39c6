/// How long a page waits for an answer before it is settled without it. The time follows the answers of the lane, as a
/// TCP sender's timeout does (RFC 6298): twice the mean and four mean deviations. Late answers count too: if all of
/// the platform becomes slow, the patience grows with it. A request without any answer counts nothing.
struct Patience: Sendable, Hashable {
    /// A shorter wait would save nothing that a person notices, and each open request costs Redis some 20 µs.
    static let least: Int64 = 300
    /// Before so many answers the wait is `first`.
    static let known = 16
    static let first: Int64 = 500

    /// Milliseconds, times eight.
    private var mean: Int64 = 0
    /// Milliseconds, times four.
    private var deviation: Int64 = 0
    private var answers = 0

    /// Notes an answer that took so many milliseconds.
    mutating func answered(after milliseconds: Int64) {
        let took = max(0, milliseconds)
        if answers == 0 {
            (mean, deviation) = (took << 3, took << 1)
        } else {
            let error = took - mean >> 3
            mean += error
            deviation += abs(error) - deviation >> 2
        }
        if answers < Self.known { answers += 1 }
    }

    /// Milliseconds. At most a quarter of a request's time, so that several pages fit into it.
    func value(timeout: Int64) -> Int64 {
        let learned = 2 * (mean >> 3 + deviation)
        return min(max(1, timeout / 4), answers < Self.known ? max(Self.first, learned) : max(Self.least, learned))
    }
}

/// Which requests a lane may leave open. Silent phones are told from a slow platform by the others, which are answered.
/// A request that an answer in time has overtaken may be left open: streams alone bound these. If nobody is answered in
/// time, it takes credit, so that few leave their pages before the patience has grown. Credit comes back with time,
/// because a page of silent phones alone would hold its name until the requests' time is over.
struct OpenRequestCredit: Sendable, Hashable {
    /// The most credit of all lanes of a transport together, unless a part for each lane is more.
    static let most = 512
    /// The most credit of one lane.
    static let first = 64
    /// Milliseconds after which credit that was used up is there again.
    static let refill: Int64 = 2_000

    private let most: Int64
    /// In requests times `refill`, at the time `since`.
    private var left: Int64
    private var since: Int64 = 0
    /// When the newest request was handed over that was answered in time.
    private var newestAnswered = Int64.min

    init(lanes: Int) {
        most = Int64(min(Self.first, max(PageQueue.small, Self.most / max(1, lanes))))
        left = most * Self.refill
    }

    /// Notes an answer to a request that was handed over at `handedAt`. A late one does not tell that the platform is
    /// not slow.
    mutating func answered(handedAt: Int64, now: Int64, patience: Int64) {
        if now - handedAt <= patience { newestAnswered = max(newestAnswered, handedAt) }
    }

    /// When there is enough for so many requests, the newest of which was handed over at `handedAt`.
    func due(_ requests: Int, handedAt: Int64) -> Int64 {
        if handedAt <= newestAnswered { return since }
        let missing = Int64(requests) * Self.refill - left
        return missing <= 0 ? since : since + (missing + most - 1) / most
    }

    /// False, without a change, if there is not enough for all of them.
    mutating func take(_ requests: Int, handedAt: Int64, now: Int64) -> Bool {
        guard now >= due(requests, handedAt: handedAt) else { return false }
        if handedAt <= newestAnswered { return true }
        left = min(most * Self.refill, left + (now - since) * most) - Int64(requests) * Self.refill
        since = now
        return true
    }
}
