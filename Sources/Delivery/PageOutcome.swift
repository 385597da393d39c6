public import LiveActivity

/// The outcomes of a page. Acceptances are counted, and everything else is listed, because it is rare.
public struct PageOutcome: Sendable, Hashable {
    public struct Exception: Sendable, Hashable {
        /// Index of the entry in the page, also if only a part of the page was sent.
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
    package var late: [PageAnswers] = []

    public init(accepted: Int = 0, exceptions: [Exception] = []) {
        self.accepted = accepted
        self.exceptions = exceptions
    }

    /// The same outcome, other than `.accepted`, for every entry of a page.
    public init(all page: TokenPage, _ outcome: PushOutcome) {
        self.init(exceptions: page.entries.indices.map { Exception(index: page.number($0), outcome: outcome) })
    }

    /// Adds the outcome of another part of the page.
    public static func += (sum: inout PageOutcome, part: PageOutcome) {
        sum.accepted += part.accepted
        sum.late += part.late
        if !part.exceptions.isEmpty {
            sum.exceptions += part.exceptions
            sum.exceptions.sort { $0.index < $1.index }
        }
        if !part.open.isEmpty {
            sum.open += part.open
            sum.open.sort()
        }
    }
}
