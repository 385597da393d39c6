internal import APNsWire
internal import LiveActivity

/// A part of a page in a lane. `Form`: what its requests share, as the transport wants it. Belongs to the lane's thread;
/// the requests in flight hold it.
final class PageJob<Form> {
    let shared: SharedPage
    /// Made for the provider token `tokenNumber`, and anew when that changes.
    var form: Form
    var tokenNumber: Int
    /// The entries that have not been handed over: from `nextUnsent` to before `end`.
    private var nextUnsent: Int
    private let end: Int
    /// What is not accepted stands in `outcome`, what is in `accepted`: a number alone is counted up at no cost.
    private var outcome = PageOutcome()
    private var accepted = 0
    private var remaining: Int

    init(_ part: PagePart, form: Form, tokenNumber: Int) {
        shared = part.shared
        nextUnsent = part.range.lowerBound
        end = part.range.upperBound
        self.form = form
        self.tokenNumber = tokenNumber
        remaining = part.range.count
    }

    var page: TokenPage { shared.page }
    var push: LanePush { shared.push }
    var hasUnsent: Bool { nextUnsent < end }

    /// The next entry to hand over.
    func next() -> Int {
        let index = nextUnsent
        nextUnsent = index + 1
        return index
    }

    /// Gives up what has not been handed over, for someone else to send or to answer.
    func takeUnsent() -> PagePart {
        let part = PagePart(shared: shared, range: nextUnsent..<end)
        nextUnsent = end
        settle(part.range.count)
        return part
    }

    /// The same for an entry that was handed over and came back unsent.
    func takeBack(_ index: Int) -> PagePart {
        settle(1)
        return PagePart(shared: shared, range: index..<index + 1)
    }

    func accept() {
        accepted += 1
        settle(1)
    }

    func record(_ index: Int, _ result: PushOutcome) {
        outcome.exceptions.append(.init(index: index, outcome: result))
        settle(1)
    }

    /// One lock for a part, not for a request.
    private func settle(_ count: Int) {
        remaining -= count
        guard remaining == 0, count > 0 else { return }
        outcome.accepted = accepted
        shared.settle(outcome)
    }
}

/// One request, wherever it is: queued again, or in flight.
struct LaneRequest<Form> {
    let job: PageJob<Form>
    /// Of the entry in the job's page.
    let index: Int
    /// The provider token that it carries, by `PageDesk`'s count.
    var tokenNumber = 0
    /// Already repeated with another provider token.
    var hasRenewed = false
    /// When it was first handed over: monotonic milliseconds.
    var since: Int64
    /// When it was handed over this time.
    var handedAt: Int64
}
