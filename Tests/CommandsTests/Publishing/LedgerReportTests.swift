import Answers
import ArgumentParser
import LiveActivity
import Testing

@testable import Commands

/// The end of a command that waits for a push, and the lines of a list.
@Suite struct LedgerReportTests {
    private func ledger(
        _ state: String = "done", targets: Int, delivered: Int, failed: Int = 0, expired: Int = 0, pruned: Int = 0,
        broadcast: String? = nil
    ) -> LedgerAnswer {
        LedgerAnswer(
            pushID: "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", name: "match-42", event: "update", priority: 10,
            state: state, expanded: true,
            outcomes: Outcomes(
                targets: targets, [.delivered: delivered, .failed: failed, .expired: expired, .pruned: pruned]),
            retries: 0,
            duplicatesPossible: 0, demoted: 0, late: 0, stale: nil, automatic: nil,
            broadcast: broadcast.map {
                BroadcastResultAnswer(channel: "c", state: $0, status: 200, attempts: 1, reason: nil)
            }, supersededBy: nil, createdAt: "2026-11-21T18:00:00.000Z", finishedAt: nil, errors: [:], shown: nil,
            ended: nil, dismissed: nil, by: nil)
    }

    @Test func `a push fails its command if more failed than got it, or less than was asked for`() throws {
        let poor = ledger(targets: 600, delivered: 70, failed: 530)
        #expect(poor.failure(below: nil) == "the push missed 530 of 600 targets")
        #expect(ledger(targets: 600, delivered: 400, failed: 200).failure(below: nil) == nil)
        let most = ledger(targets: 600, delivered: 560, failed: 40)
        #expect(most.failure(below: Percent(argument: "95%")) == "the push reached 560 of 600, which is below 95%")
        #expect(most.failure(below: Percent(argument: "93.3")) == nil)
        #expect(ledger(targets: 0, delivered: 0).failure(below: Percent(argument: "1")) != nil, "it reached nobody")
        let broadcast = ledger(targets: 0, delivered: 0, broadcast: "delivered")
        #expect(broadcast.failure(below: Percent(argument: "95")) == nil)
        #expect(ledger("superseded", targets: 9, delivered: 1).failure(below: Percent(argument: "95")) == nil)
        for state in ["expired", "failed", "cancelled"] {
            #expect(
                ledger(state, targets: 9, delivered: 9).failure(below: nil)?.hasPrefix("the push ended as '\(state)'")
                    == true)
        }
    }

    @Test func `a push that a second person let go out names both people`() {
        var push = ledger(targets: 1, delivered: 1)
        var publisher = Publisher(credential: "ann", address: "::1")
        push.by = PublisherAnswer(publisher)
        #expect(!push.lines.contains { $0.contains("ann") })
        publisher.second = Publisher.Second(Publisher(credential: "oidc", address: "::2", who: "Bob"))
        push.by = PublisherAnswer(publisher)
        #expect(push.lines.contains { $0.contains("ann, second person Bob (oidc)") }, "\(push.lines)")
    }

    /// `--fail-below 0` is the word of a script for which nobody is enough.
    @Test func `a push that reached nobody fails its command`() throws {
        let none = try #require(Percent(argument: "0"))
        for push in [
            ledger(targets: 0, delivered: 0), ledger(targets: 9, delivered: 0, pruned: 9),
            ledger(targets: 0, delivered: 0, broadcast: "failed"),
        ] {
            #expect(push.failure(below: nil) == "the push reached nobody")
            #expect(push.failure(below: none) == nil)
        }
        #expect(
            ledger(targets: 433, delivered: 4, expired: 429).failure(below: nil) == "the push missed 429 of 433 targets"
        )
        #expect(ledger(targets: 9, delivered: 1, pruned: 8).failure(below: nil) == nil, "the other cards are gone")
    }

    @Test func `the state says whom a push reached`() {
        #expect(ledger(targets: 600, delivered: 70, failed: 530).stateText == "done, reached 11 %")
        #expect(ledger(targets: 2_000, delivered: 1).stateText == "done, reached 1 %")
        #expect(ledger(targets: 2, delivered: 2).stateText == "done")
        #expect(ledger(targets: 0, delivered: 0).stateText == "done, reached nobody")
        #expect(
            ledger(targets: 433, delivered: 0, expired: 429, pruned: 4).stateText == "done, reached nobody: expired")
        #expect(ledger("failed", targets: 1, delivered: 0, failed: 1).stateText == "failed, reached nobody")
        #expect(ledger("failed", targets: 1_476, delivered: 1_474, failed: 2).stateText == "failed, reached 99.8 %")
        #expect(ledger("failed", targets: 2, delivered: 2).stateText == "failed, reached everybody")
        #expect(ledger("cancelled", targets: 10, delivered: 4).stateText == "cancelled, reached 40 %")
        #expect(ledger("expired", targets: 10, delivered: 0, expired: 10).stateText == "expired, reached nobody")
        #expect(ledger("superseded", targets: 10, delivered: 0).stateText == "superseded")
        #expect(ledger("sending", targets: 10, delivered: 4).stateText == "sending")
        #expect(ledger(targets: 0, delivered: 0, broadcast: "delivered").stateText == "done")
    }

    @Test func `the time left comes in steps`() {
        let push = ledger("sending", targets: 1_000, delivered: 821)
        #expect(push.timeLeft(of: 1_872, rate: 500) == "a few seconds left")
        #expect(push.timeLeft(of: 1_872, rate: 50) == "about 30 s left")
        #expect(push.timeLeft(of: 1_872, rate: 10) == "about 2 min left")
        #expect(push.timeLeft(of: 1_872, rate: 0) == nil && push.timeLeft(of: 821, rate: 9) == nil)
    }

    @Test(arguments: ["", "%", "-1", "101", "9x", "nan"])
    func `a share that is no percentage is refused`(text: String) { #expect(Percent(argument: text) == nil) }

    @Test func `a list of dead letters says where it goes on`() throws {
        let answer = #"{"ok":true,"total":9,"dead":[],"next":"0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"}"#
        let lines = try DeadCommand.List.parse([]).lines(DeadLettersAnswer(answer: Array(answer.utf8)))
        #expect(lines.last == "no dead letters")
        let letter =
            #"{"push_id":"0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10","name":"a","at":"2026-11-21T18:00:00.000Z","stopped":null,"tokens":1,"kept":1,"not_kept":0,"reasons":{"Timeout":1}}"#
        let page = answer.replacing("[]", with: "[\(letter)]")
        let more = try DeadCommand.List.parse([]).lines(DeadLettersAnswer(answer: Array(page.utf8)))
        #expect(more.last == "more: --after 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", "\(more)")
    }
}
