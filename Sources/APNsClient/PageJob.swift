internal import APNsWire
internal import Curl
internal import LiveActivity

/// A page in a lane, with what its requests share. Belongs to the lane's thread; the transfers in flight hold it.
final class PageJob {
    let request: PageRequest
    let body: SharedBody
    /// Made for `headersToken`, and anew when the provider token changes.
    var headers: HeaderList
    var headersToken: ProviderToken
    /// The first entry that has not been handed over.
    var next = 0
    private var outcome = PageOutcome()
    private var remaining: Int

    init(_ request: PageRequest, body: SharedBody, headers: HeaderList, headersToken: ProviderToken) {
        self.request = request
        self.body = body
        self.headers = headers
        self.headersToken = headersToken
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
