internal import APNsWire
internal import LiveActivity

/// A part of a page in a lane. `Form`: what its requests share, as the transport wants it. Belongs to the lane's thread;
/// the requests in flight hold it.
final class PageJob<Form> {
    let shared: SharedPage
    /// Made for the provider token `tokenNumber`, and anew when that changes.
    var form: Form
    var tokenNumber: Int
    /// The entries that have not been handed over.
    private var unsent: Range<Int>
    private var outcome = PageOutcome()
    private var remaining: Int

    init(_ part: PagePart, form: Form, tokenNumber: Int) {
        shared = part.shared
        unsent = part.range
        self.form = form
        self.tokenNumber = tokenNumber
        remaining = part.range.count
    }

    var page: TokenPage { shared.page }
    var push: LanePush { shared.push }
    var hasUnsent: Bool { !unsent.isEmpty }

    /// The next entry to hand over.
    func next() -> Int {
        defer { unsent = unsent.lowerBound + 1..<unsent.upperBound }
        return unsent.lowerBound
    }

    /// Gives up what has not been handed over, for someone else to send or to answer.
    func takeUnsent() -> PagePart {
        let part = PagePart(shared: shared, range: unsent)
        unsent = unsent.upperBound..<unsent.upperBound
        settle(part.range.count)
        return part
    }

    /// The same for an entry that was handed over and came back unsent.
    func takeBack(_ index: Int) -> PagePart {
        settle(1)
        return PagePart(shared: shared, range: index..<index + 1)
    }

    func accept() {
        outcome.accepted += 1
        settle(1)
    }

    func record(_ index: Int, _ result: PushOutcome) {
        outcome.exceptions.append(.init(index: index, outcome: result))
        settle(1)
    }

    /// One lock for a part, not for a request.
    private func settle(_ count: Int) {
        remaining -= count
        if remaining == 0, count > 0 { shared.settle(outcome) }
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
