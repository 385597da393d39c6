/// How long a page waits for an answer before it is settled without it. The time follows the answers of the lane, as a
/// TCP sender's timeout does (RFC 6298): twice the mean and four mean deviations. Late answers count too: if all of
/// APNs becomes slow, the patience grows with it. A request without any answer counts nothing.
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

/// How many requests a lane may leave open. If a few phones are silent there is always room. If APNs is slow for all,
/// only these leave their pages, and the patience has grown before there is room for more.
struct OpenRequestCredit: Sendable, Hashable {
    /// The most credit of all lanes of a transport together.
    static let most = 512
    /// The credit of one lane at its start.
    static let first = 64
    /// An answer in time restores one of so many.
    static let answersForOne = 8

    /// In parts of one request.
    private var left: Int
    private let most: Int

    init(lanes: Int) {
        most = max(32, Self.most / max(1, lanes)) * Self.answersForOne
        left = min(most, Self.first * Self.answersForOne)
    }

    mutating func answered() { if left < most { left += 1 } }

    func has(_ requests: Int) -> Bool { requests * Self.answersForOne <= left }

    /// False, without a change, if there is not enough for all of them.
    mutating func take(_ requests: Int) -> Bool {
        guard has(requests) else { return false }
        left -= requests * Self.answersForOne
        return true
    }
}
