/// The requests and answers of a connection so far. Times are monotonic milliseconds.
struct ConnectionUse {
    /// A connection that was idle for longer begins again with one request, because it may have died without notice.
    static let idleMilliseconds: Int64 = 60_000
    /// A full connection is replaced if it starts no request for this long while requests wait.
    static let fullMilliseconds: Int64 = 2_000
    /// A connection that brought this many answers was worth making, so the next one does not wait.
    static let provenAnswers = 16
    /// After this many failures in a row, some 1.5 s of trying, the waiting pages return to their senders unsent.
    static let hopelessFailures = 5

    private(set) var answers = 0
    /// Nil before the first answer.
    private var lastAnswer: Int64?
    /// When the newest request was handed over that was answered.
    private var newestAnswered = Int64.min
    /// When the last request ended late that an answer had overtaken. Until then silent phones held streams.
    private var heldUntil = Int64.min
    /// When the lane last gave it requests.
    var lastRequest: Int64
    /// Since when the connection accepts no request, although one waits; nil while it does.
    var fullSince: Int64?
    /// Milliseconds that a request takes, smoothed over some eight answers.
    private(set) var pace: Int64 = 0
    /// Names the credentials that it may carry (`CredentialSource.connections`); nil before the first request.
    var key: Substring?
    /// The connection takes no requests now, because its requests are not answered. It may come back with an answer.
    var isAside = false
    /// The token of its first request; nil before that.
    var firstToken: [UInt8]?
    /// The log already has a line about its closed window.
    var hasLoggedWindow = false

    init(now: Int64) { lastRequest = now }

    mutating func answered(handedAt: Int64, now: Int64) {
        answers += 1
        lastAnswer = now
        newestAnswered = max(newestAnswered, handedAt)
        fullSince = nil
        let took = now - handedAt
        pace = answers == 1 ? took : (7 * pace + took) / 8
    }

    /// No answer came for the second half of a request's time.
    func isSilent(now: Int64, timeout: Int64) -> Bool { lastAnswer.map { now - $0 >= timeout / 2 } ?? true }
    /// Notes a request that ended late.
    /// - Returns: whether it may be a silent phone's: an answer came to a request that was handed over no earlier, or
    ///   silent phones held streams since, so that no later request could be answered
    mutating func noteLate(handedAt: Int64, now: Int64) -> Bool {
        guard handedAt <= newestAnswered else { return handedAt <= heldUntil }
        heldUntil = now
        return true
    }
    func wasIdle(now: Int64) -> Bool { now - max(lastRequest, lastAnswer ?? lastRequest) > Self.idleMilliseconds }
}
