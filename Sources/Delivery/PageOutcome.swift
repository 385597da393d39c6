public import LiveActivity

/// The outcomes of a page. Acceptances are counted, and everything else is listed, because it is rare.
public struct PageOutcome: Sendable, Hashable {
    public struct Exception: Sendable, Hashable {
        /// Index of the entry in the page.
        public var index: Int
        public var outcome: PushOutcome

        public init(index: Int, outcome: PushOutcome) {
            self.index = index
            self.outcome = outcome
        }
    }

    public var accepted: Int
    /// Every outcome except 200, by ascending index; never `.accepted`.
    public var exceptions: [Exception]
    /// Indices of the entries whose requests are open: they have left and have no answer yet. Ascending. Empty unless
    /// the sender takes open requests (`Handover`).
    public var open: [Int] = []
    /// Bring the answers to the open requests, each within the time of one request.
    public var late: [LateAnswers] = []

    public init(accepted: Int = 0, exceptions: [Exception] = []) {
        self.accepted = accepted
        self.exceptions = exceptions
    }

    /// The same outcome, other than `.accepted`, for every entry of a page.
    public init(all page: TokenPage, _ outcome: PushOutcome) {
        self.init(exceptions: page.entries.indices.map { Exception(index: $0, outcome: outcome) })
    }
}

/// Brings the answers to the open requests of a page, under the indices of the page's entries.
public struct LateAnswers: Sendable, Hashable {
    private let answers: PageAnswers
    /// The page's index by the index in the part that was sent; nil: the part was the whole page.
    private let indices: [Int]?

    init(_ answers: PageAnswers) { (self.answers, indices) = (answers, nil) }

    private init(_ answers: PageAnswers, _ indices: [Int]) { (self.answers, self.indices) = (answers, indices) }

    /// The late answers for the page that this page was a part of.
    /// - Parameter whole: the whole page's index by the index in this page
    public func inside(_ whole: [Int]) -> LateAnswers {
        LateAnswers(answers, indices.map { $0.map { whole[$0] } } ?? whole)
    }

    /// Waits for answers. One task at a time may ask.
    /// - Returns: what has come since the last call, also acceptances; empty once each open request had its answer
    public func next() async -> [PageOutcome.Exception] { placed(await answers.next()) }

    /// The answers that came since the last call. Empty: none.
    public func more() -> [PageOutcome.Exception] { placed(answers.more()) }

    private func placed(_ found: [PageOutcome.Exception]) -> [PageOutcome.Exception] {
        guard let indices else { return found }
        return found.map { PageOutcome.Exception(index: indices[$0.index], outcome: $0.outcome) }
    }
}
