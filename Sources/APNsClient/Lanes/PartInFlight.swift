internal import APNsWire
internal import LiveActivity

/// A part of a page in a lane. `Template` is the data that its requests share, as the transport wants it. The part
/// belongs to the lane's thread, and its requests in flight hold it.
final class PartInFlight<Template> {
    let shared: SharedPage
    /// Made for the provider token `tokenNumber`, and again when that changes.
    var template: Template
    var tokenNumber: Int
    /// The entries that have not been handed over: from `nextUnsent` up to, but not including, `end`.
    private var nextUnsent: Int
    private let end: Int
    /// `outcome` holds the exceptions. Acceptances are only counted in `accepted`, which costs nothing.
    private var outcome = PageOutcome()
    private var accepted = 0
    private var remaining: Int

    init(_ part: PagePart, template: Template, tokenNumber: Int) {
        shared = part.shared
        nextUnsent = part.range.lowerBound
        end = part.range.upperBound
        self.template = template
        self.tokenNumber = tokenNumber
        remaining = part.range.count
    }

    var page: TokenPage { shared.page }
    var push: LanePush { shared.push }
    var hasUnsent: Bool { nextUnsent < end }
    /// Every entry that stayed in this part has an outcome.
    var isSettled: Bool { remaining == 0 }

    /// The next entry to hand over.
    func next() -> Int {
        let index = nextUnsent
        nextUnsent = index + 1
        return index
    }

    /// Gives up the entries that have not been handed over. The caller sends or settles them.
    func takeUnsent() -> PagePart {
        let part = PagePart(shared: shared, range: nextUnsent..<end)
        nextUnsent = end
        settle(part.range.count)
        return part
    }

    /// Gives up an entry that was handed over and came back unsent.
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

    /// Settles the part after its last entry: one lock for a part, not for each request.
    private func settle(_ count: Int) {
        remaining -= count
        guard remaining == 0, count > 0 else { return }
        outcome.accepted = accepted
        shared.settle(outcome)
    }
}
