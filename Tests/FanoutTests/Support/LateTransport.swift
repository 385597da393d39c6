import APNsWire
import Delivery
import LiveActivity
import Synchronization

/// A transport that accepts tokens at once, except some whose requests stay open until the test answers them.
final class LateTransport: PushTransport {
    private struct OpenEntry {
        var answers: PageAnswers
        var index: Int
    }

    private let open = Mutex<[Int: OpenEntry]>([:])
    private let staysOpen: @Sendable (_ token: Int) -> Bool

    init(_ staysOpen: @escaping @Sendable (_ token: Int) -> Bool) { self.staysOpen = staysOpen }

    var requestTimeout: Duration { .seconds(60) }
    func close() async {}

    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        if page.isEmpty { return PageOutcome() }
        return await withCheckedContinuation { sender in
            let answers = PageAnswers(page.count, of: page.numbers, handover, RequestCount(), sender)
            var outcome = PageOutcome()
            for index in page.entries.indices {
                let token = WorkerFixture.number(Array(page.token(index)))
                if answers.takesOpen, staysOpen(token) {
                    open.withLock { $0[token] = OpenEntry(answers: answers, index: index) }
                    outcome.open.append(index)
                } else {
                    outcome.accepted += 1
                }
            }
            answers.add(outcome)
        }
    }

    /// Answers the open request of a token.
    func answer(_ token: Int, _ outcome: PushOutcome = .accepted) {
        guard let entry = open.withLock({ $0.removeValue(forKey: token) }) else { return }
        entry.answers.addLate(entry.index, outcome)
    }
}
