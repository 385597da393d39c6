import Answers
import LiveActivity
import StrictJSON
import Testing

@testable import Console

/// What pages say is so: about the thing that was asked for, and as it is.
@Suite struct StatementTests {
    private func ledger(
        _ state: String, targets: Int, delivered: Int = 0, failed: Int = 0, expired: Int = 0,
        errors: [String: Int] = [:], platforms: PlatformOutcomesAnswer? = nil
    ) -> LedgerAnswer {
        let outcomes = Outcomes(targets: targets, [.delivered: delivered, .failed: failed, .expired: expired])
        return LedgerAnswer(
            pushID: "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", name: "match-42", event: "update", priority: 10,
            state: state, expanded: true, outcomes: outcomes, platforms: platforms, retries: 0, duplicatesPossible: 0,
            demoted: 0, late: 0, stale: nil, automatic: nil, broadcast: nil, supersededBy: nil,
            createdAt: "2026-11-21T18:00:00.000Z", finishedAt: nil, errors: errors, shown: nil, ended: nil,
            dismissed: nil, by: nil)
    }

    private func text(_ page: String) -> String { page.replacing(/<[^>]*>/, with: "") }

    @Test func `words and colour of a push that is over tell whom it reached`() {
        func shown(_ ledger: LedgerAnswer) -> [String] {
            let row = PushValues(ledger: ledger, now: 0).row
            return [row["state"], row["mood"]].compactMap { $0 as? String }
        }
        #expect(shown(ledger("done", targets: 9, delivered: 9)) == ["done", "done"])
        #expect(shown(ledger("done", targets: 433, expired: 429)) == ["done, reached nobody: expired", "failed"])
        #expect(
            shown(ledger("failed", targets: 1_476, delivered: 1_474, failed: 2)) == [
                "failed, reached 99.8 %", "partly",
            ])
        #expect(shown(ledger("failed", targets: 2, failed: 2)) == ["failed, reached nobody", "failed"])
        #expect(shown(ledger("cancelled", targets: 10, delivered: 4)) == ["cancelled, reached 40 %", "cancelled"])
        #expect(shown(ledger("superseded", targets: 10)) == ["superseded", "superseded"])
        #expect(shown(ledger("sending", targets: 10, delivered: 4)) == ["sending", "sending"])
    }

    @Test func `a push that quarantined tokens does not say that they are in quarantine still`() {
        let page = PushValues(ledger: ledger("done", targets: 9, failed: 9, errors: ["Quarantined": 9]), now: 0).page
        let part = text(Templates.all.render("push-live", page))
        #expect(part.contains("9 devices went into quarantine") && !part.contains("to send again"), "\(part)")
    }

    @Test func `a push to both platforms tells what became of each one's devices`() {
        let both = PlatformOutcomesAnswer([
            .ios: Outcomes(targets: 2_000, [.delivered: 1_990, .pruned: 10]),
            .android: Outcomes(targets: 30, [.delivered: 20, .skipped: 4]),
        ])
        func part(_ platforms: PlatformOutcomesAnswer?) -> String {
            let ledger = ledger("sending", targets: 2_030, delivered: 2_010, platforms: platforms)
            return text(Templates.all.render("push-live", PushValues(ledger: ledger, now: 0).page))
        }
        #expect(part(both).contains("on iOS2,0001,990 delivered, 10 pruned"), "\(part(both))")
        #expect(part(both).contains("on Android3020 delivered, 4 skipped, 6 pending"))
        // The sums say it of a push to one.
        #expect(!part(PlatformOutcomesAnswer([.ios: Outcomes(targets: 2_030, [:])])).contains("on iOS"))
        #expect(!part(nil).contains("on iOS"))
    }

    @Test func `a refusal at the time of a schedule is said in words`() {
        for reason in ["NameEnded", "TimestampBehind", "QueueFull"] {
            #expect(ReasonText.meaning(reason) != nil, "\(reason)")
        }
    }

    @Test func `a card shows no value of the page around it`() throws {
        let card = Card(app: "demo", name: "match-42", state: try JSONDocument(#"{"n":1}"#).root).values
        let around: Values = [
            "card": card, "progress": "0 of 5", "isEnd": true, "alert": ["title": "Kick-off", "body": ""],
            "drawing": "<i>other</i>",
        ]
        let page = Templates.all.render("push", around)
        for part in ["<progress", "Kick-off", "<i>other", "The card ends here"] {
            #expect(!page.contains(part), "\(part): \(page)")
        }
    }

    @Test func `a name keeps the blanks at its ends, which are seen`() throws {
        let compose = ComposeForm(Form("name=match-42+&event=update&state={}"), now: 0)
        #expect(compose.name == "match-42 ")
        #expect(try compose.push().text.contains(#""name":"match-42 ""#))
        #expect(ComposeForm(Form("name=++"), now: 0).name.isEmpty)
        var bytes: [UInt8] = []
        HTMLText.mark(" a b ", into: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "␠a b␠")
    }

    @Test func `a start that is scheduled counts start tokens, and no followers`() {
        let preview = PreviewAnswer(
            name: "match-42", event: "start", tokens: nil, startTokens: 7, complete: nil, broadcastChannels: nil,
            payloadBytes: 9, payloadLimit: 4_096, payload: RawJSON(checked: "{}"))
        let compose = ComposeForm(Form("name=match-42&event=start&attributes_type=Match"), now: 0)
        let sentence = ReachText(preview).sentence(compose, isInside: false, isScheduled: true)
        #expect(sentence.hasSuffix("This counts the start tokens of now."), "\(sentence)")
    }

    @Test func `Home is not called calm while nothing is sent`() {
        var state = AppState()
        (state.pauses, state.workers) = ([], [])
        #expect(StatusStrip(state).isHalted)
        state.workers = [AppState.Worker(name: "a", pending: 0, idle: 0, isAtWork: true)]
        #expect(!StatusStrip(state).isHalted)
        state.pauses = [PauseAnswer(app: "demo", name: nil, since: "2026-11-21T18:00:00.000Z")]
        #expect(StatusStrip(state).isHalted)
    }
}
