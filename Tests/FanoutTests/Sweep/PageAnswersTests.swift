import Delivery
import LiveActivity
import Testing

/// Tests the answers to a part of a page: they have the indices of the page, in time and late.
@Suite struct PageAnswersTests {
    @Test func `answers to a part have the indices of the page`() async throws {
        let busy = PushOutcome.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
        let outcome: PageOutcome = await withCheckedContinuation { sender in
            let answers = PageAnswers(4, of: [2, 5, 6, 9], Handover(), RequestCount(), sender)
            var part = PageOutcome(accepted: 1, exceptions: [.init(index: 1, outcome: busy)])
            part.open = [0]
            answers.add(part)
            part = PageOutcome()
            part.open = [3]
            answers.add(part)
        }
        #expect(outcome.accepted == 1 && outcome.exceptions == [.init(index: 5, outcome: busy)])
        #expect(outcome.open == [2, 9])
        let answers = try #require(outcome.late.first)
        answers.addLate(3, .accepted)
        #expect(await answers.next() == [.init(index: 9, outcome: .accepted)])
        answers.addLate(0, busy)
        #expect(answers.more() == [.init(index: 2, outcome: busy)])
        #expect(await answers.next().isEmpty)
    }
}
