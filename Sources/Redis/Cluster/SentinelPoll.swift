/// The questions to the sentinels of one URL and their latest answers, as a value. `PrimaryWatch` sends the questions.
///
/// Each sentinel is by itself: `ask` leads from idle to asked, and `heard` back to idle, with an answer or an error. A
/// silent sentinel stays asked, so it is not asked again. `verdict` judges the answers since a connection began to ask:
///
///     waiting ── most have answered, or all ──▶ found, or failed: nobody answered, or there is an objection
struct SentinelPoll {
    /// How long a new connection waits for slow sentinels when most have answered.
    static let courtesy = Duration.milliseconds(250)
    /// The longest wait for one sentinel, because a machine that is off never answers.
    static let patience = Duration.seconds(2)
    /// Answers count for as long, so that a sentinel that went away is soon not counted.
    private static let validity = Duration.seconds(5)

    struct Sentinel {
        let address: RedisAddress
        fileprivate var isAsked = false
        fileprivate(set) var outcome: Result<SentinelAnswer, RedisError>?
        fileprivate var heard: ContinuousClock.Instant?

        fileprivate func hasAnswered(since time: ContinuousClock.Instant) -> Bool { heard.map { $0 >= time } ?? false }
    }
    enum Verdict: Hashable {
        case found(RedisAddress)
        case waiting(until: ContinuousClock.Instant)
        /// The primary that the sentinels name must not be used.
        case objection(String)
        /// No sentinel has named a primary.
        case unknown
    }

    private(set) var sentinels: [Sentinel]
    /// No sentinel answers, and that was told.
    private var isDeaf = false

    init(_ addresses: [RedisAddress]) { sentinels = addresses.map { Sentinel(address: $0) } }

    /// - Returns: the sentinels that get a question now, by index
    mutating func ask() -> [Int] {
        let asked = sentinels.indices.filter { !sentinels[$0].isAsked }
        for index in asked { sentinels[index].isAsked = true }
        return asked
    }

    /// A sentinel has answered, or cannot be asked.
    mutating func heard(_ outcome: Result<SentinelAnswer, RedisError>, from index: Int, now: ContinuousClock.Instant) {
        (sentinels[index].outcome, sentinels[index].heard, sentinels[index].isAsked) = (outcome, now, false)
    }

    /// The reason why a connection has to leave its server. Nil: it stays.
    func objection(to address: RedisAddress, now: ContinuousClock.Instant) -> String? {
        answers(now).objection(to: address, isInUse: true)
    }

    /// Whether nobody would notice a failover, if that has changed since the last call.
    /// - Parameter isUsed: whether there are connections that would have to leave
    mutating func deafness(isUsed: Bool, now: ContinuousClock.Instant) -> Bool? {
        let hasAnswers = !answers(now).isEmpty
        guard hasAnswers || isUsed, isDeaf == hasAnswers else { return nil }
        isDeaf = !hasAnswers
        return isDeaf
    }

    /// - Parameter began: when the connection began to ask. Earlier answers do not count.
    func verdict(since began: ContinuousClock.Instant, now: ContinuousClock.Instant) -> Verdict {
        let answered = sentinels.filter { $0.hasAnswered(since: began) }
        let answers = answered.compactMap { try? $0.outcome?.get() }
        if answered.count < sentinels.count {
            if now < began + Self.courtesy { return .waiting(until: began + Self.courtesy) }
            // Do not wait for a sentinel that was away before: its own reconnecting takes time.
            let isMissing = sentinels.contains { sentinel in
                if case .failure = sentinel.outcome { return false }
                return !sentinel.hasAnswered(since: began)
            }
            if answers.isEmpty || isMissing && 2 * answers.count <= sentinels.count {
                return .waiting(until: now + Self.patience)
            }
        }
        guard let primary = answers.primary() else { return .unknown }
        if let objection = answers.objection(to: primary, isInUse: false) {
            return .objection("the primary at \(primary): \(objection)")
        }
        return .found(primary)
    }

    private func answers(_ now: ContinuousClock.Instant) -> [SentinelAnswer] {
        sentinels.filter { $0.hasAnswered(since: now - Self.validity) }.compactMap { try? $0.outcome?.get() }
    }
}
