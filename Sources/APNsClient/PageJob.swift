internal import APNsWire
internal import LiveActivity

/// A page in a lane. `Form`: what its requests share, as the transport wants it. Belongs to the lane's thread; the
/// requests in flight hold it.
final class PageJob<Form> {
    let request: PageRequest
    /// Made for the provider token `tokenNumber`, and anew when that changes.
    var form: Form
    var tokenNumber: Int
    /// The first entry that has not been handed over.
    var next = 0
    private var outcome = PageOutcome()
    private var remaining: Int

    init(_ request: PageRequest, form: Form, tokenNumber: Int) {
        self.request = request
        self.form = form
        self.tokenNumber = tokenNumber
        remaining = request.page.count
    }

    var hasUnsent: Bool { next < request.page.count }

    func accept() {
        outcome.accepted += 1
        settleOne()
    }

    func record(_ index: Int, _ result: PushOutcome) {
        outcome.exceptions.append(.init(index: index, outcome: result))
        settleOne()
    }

    /// The same outcome for all that has not been handed over.
    func recordUnsent(_ result: PushOutcome) {
        while hasUnsent {
            next += 1
            record(next - 1, result)
        }
    }

    /// Resumes the sender when the last outcome is in: one hop per page, no more.
    private func settleOne() {
        remaining -= 1
        guard remaining == 0 else { return }
        outcome.exceptions.sort { $0.index < $1.index }
        request.continuation.resume(returning: outcome)
    }
}

/// One request, wherever it is: queued again, or in flight.
struct LaneRequest<Form> {
    let job: PageJob<Form>
    /// Of the entry in the job's page.
    let index: Int
    /// The provider token that it carries, by `PageDesk`'s count.
    var tokenNumber = 0
    /// Already repeated with a new provider token.
    var hasRenewed = false
    /// When it was first handed over: monotonic milliseconds.
    var since: Int64
}
