import Delivery
internal import LiveActivity

/// A part of a page in a lane. `Template` is the data that its requests share, as the transport wants it. The part
/// belongs to the lane's thread, and its requests in flight hold it.
final class PartInFlight<Template> {
    let answers: PageAnswers
    /// The recorder of the push.
    let trace: ExchangeRecorder?
    /// Whether the page is a retry.
    let isRetry: Bool
    /// Nil once its requests are left open, because they may outlive their page by seconds. A traced one stays.
    private(set) var shared: SharedPage?
    /// Made for the credential `credentialNumber`, and again when that changes.
    var template: Template
    var credentialNumber: Int
    /// Requests that wait to be sent again.
    var repeats = 0
    /// When the lane took it, and when its newest request was handed to a connection, monotonic milliseconds.
    let begunAt: Int64
    var lastHandedAt: Int64 = 0
    /// The page does not wait for its requests any more.
    private(set) var isLeftOpen = false
    private let first: Int
    /// The entries that have not been handed over: from `nextUnsent` up to, but not including, `end`.
    private var nextUnsent: Int
    private let end: Int
    /// A bit for each entry that was handed over and has no outcome, from `first` on.
    private var waiting: UInt32 = 0
    /// `outcome` holds the exceptions. Acceptances are only counted in `accepted`, which costs nothing.
    private var outcome = PageOutcome()
    private var accepted = 0
    private var remaining: Int

    /// The most entries, because each has a bit.
    static var most: Int { UInt32.bitWidth }

    init(_ part: PagePart, template: Template, credentialNumber: Int, now: Int64) {
        precondition(part.range.count <= Self.most)
        shared = part.shared
        answers = part.shared.answers
        trace = part.shared.push.trace
        isRetry = part.shared.isRetry
        first = part.range.lowerBound
        nextUnsent = part.range.lowerBound
        end = part.range.upperBound
        self.template = template
        self.credentialNumber = credentialNumber
        begunAt = now
        remaining = part.range.count
    }

    var hasUnsent: Bool { nextUnsent < end }
    /// Every entry that stayed in this part has an outcome.
    var isSettled: Bool { remaining == 0 }
    /// Its page waits for it.
    var hasPage: Bool { !isSettled && !isLeftOpen }
    /// How many requests have been handed over and have no outcome.
    var open: Int { waiting.nonzeroBitCount }

    /// The page of a request that is about to be sent.
    var sending: SharedPage {
        guard let shared else { preconditionFailure("an open request is never sent again") }
        return shared
    }

    private func bit(_ index: Int) -> UInt32 { 1 << UInt32(truncatingIfNeeded: index &- first) }

    /// The next entry to hand over.
    func next() -> Int {
        let index = nextUnsent
        nextUnsent = index + 1
        waiting |= bit(index)
        return index
    }

    /// Gives up the entries that have not been handed over. The caller sends or settles them. Nil: there are none.
    func takeUnsent() -> PagePart? {
        guard let shared, hasUnsent else { return nil }
        let part = PagePart(shared: shared, range: nextUnsent..<end)
        nextUnsent = end
        settle(part.range.count)
        return part
    }

    /// Gives up an entry that was handed over and came back unsent. Nil: its page does not wait for it any more.
    func takeBack(_ index: Int) -> PagePart? {
        guard !isLeftOpen, let shared else { return nil }
        waiting &= ~bit(index)
        settle(1)
        return PagePart(shared: shared, range: index..<index + 1)
    }

    func accept(_ index: Int) {
        waiting &= ~bit(index)
        if isLeftOpen {
            remaining -= 1
            return answers.addLate(index, .accepted)
        }
        accepted += 1
        settle(1)
    }

    func record(_ index: Int, _ result: PushOutcome) {
        waiting &= ~bit(index)
        if isLeftOpen {
            remaining -= 1
            return answers.addLate(index, result)
        }
        outcome.exceptions.append(.init(index: index, outcome: result))
        settle(1)
    }

    /// Whether its requests may be left open: the page takes that, and each of them is on a connection.
    func mayBeLeftOpen(now: Int64, patience: Int64) -> Bool {
        answers.takesOpen && !hasUnsent && repeats == 0 && !isSettled && now - lastHandedAt >= patience
    }

    /// Gives the page what has come. The answers to the rest come late.
    func leaveOpen() {
        outcome.accepted = accepted
        outcome.open = (first..<end).filter { waiting & bit($0) != 0 }
        isLeftOpen = true
        if trace == nil { shared = nil }
        answers.add(outcome)
        outcome = PageOutcome()
    }

    /// Settles the part after its last entry: one lock for a part, not for each request.
    private func settle(_ count: Int) {
        remaining -= count
        guard remaining == 0, count > 0 else { return }
        outcome.accepted = accepted
        answers.add(outcome)
    }
}

/// One request, either queued again or in flight.
struct LaneRequest<Template> {
    let part: PartInFlight<Template>
    /// Index of the entry in the part's page.
    let index: Int
    /// The number of the credential that it carries, as `LaneRequests` counts them.
    var credentialNumber = 0
    /// The request was already repeated with another credential.
    var hasRenewed = false
    /// The request was already repeated with another key.
    var hasChangedKey = false
    /// When it was first handed over, monotonic milliseconds.
    var since: Int64
    /// When it was last handed over, monotonic milliseconds.
    var handedAt: Int64

    /// The token of a request that is about to be sent.
    var token: [UInt8] { Array(part.sending.page.token(index)) }
}
