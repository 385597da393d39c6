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
