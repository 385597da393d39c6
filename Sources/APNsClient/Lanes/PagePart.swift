import Delivery
internal import LiveActivity

/// Entries of a page that one lane takes together.
struct PagePart: Sendable {
    let shared: SharedPage
    var range: Range<Int>

    var isSmall: Bool { shared.page.count <= PageQueue.small }

    /// Settles all entries with the same outcome, other than `.accepted`.
    func settle(_ outcome: PushOutcome) {
        shared.answers.add(PageOutcome(exceptions: range.map { .init(index: $0, outcome: outcome) }))
    }

    func settleUnsent(_ cause: NoAnswer.Cause) { settle(.unanswered(.init(cause, mayHaveBeenDelivered: false))) }
}
