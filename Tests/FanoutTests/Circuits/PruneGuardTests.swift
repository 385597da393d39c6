import Delivery
import LiveActivity
import Store
import Testing

@testable import Fanout

/// Tests when the prune guard believes APNs about dead tokens.
@Suite struct PruneGuardTests {
    private let judge = PruneGuard()

    private func verdict(
        push: TokenVerdictCounts = TokenVerdictCounts(), app: TokenVerdictCounts = TokenVerdictCounts()
    ) -> PruneGuard.Verdict {
        judge.verdict(push: push, app: app)
    }

    @Test func `few answers prove nothing`() {
        #expect(verdict(push: TokenVerdictCounts(answers: 199, dead: 199)) == PruneGuard.Verdict())
        #expect(verdict(push: TokenVerdictCounts(answers: 200, dead: 200)).quarantine != nil)
    }

    @Test(arguments: [(99, false), (100, true), (200, true)])
    func `half of them is too many`(dead: Int, isQuarantined: Bool) {
        #expect((verdict(push: TokenVerdictCounts(answers: 200, dead: dead)).quarantine != nil) == isQuarantined)
    }

    @Test func `an app's small pushes add up`() {
        let small = TokenVerdictCounts(answers: 3, dead: 3)
        #expect(verdict(push: small, app: TokenVerdictCounts(answers: 400, dead: 180)) == PruneGuard.Verdict())
        let tripped = verdict(push: small, app: TokenVerdictCounts(answers: 400, dead: 210))
        #expect(tripped.quarantine?.contains("210 of 400 answers of this app in 10 min") == true)
    }

    @Test func `an app's last answers count where its minutes hold too few`() {
        let few = TokenVerdictCounts(answers: 190, dead: 190)
        #expect(judge.verdict(push: TokenVerdictCounts(), app: few) == PruneGuard.Verdict())
        let slow = judge.verdict(
            push: TokenVerdictCounts(), app: few, lately: TokenVerdictCounts(answers: 380, dead: 300))
        #expect(slow.quarantine?.contains("300 of 380 answers of this app lately") == true)
    }

    @Test func `a push is judged by itself however well the others do`() {
        let tripped = verdict(
            push: TokenVerdictCounts(answers: 300, dead: 300), app: TokenVerdictCounts(answers: 1_000_000, dead: 300))
        #expect(tripped.quarantine?.contains("300 of 300 answers of a push") == true)
    }

    @Test func `many 410s are only said`() {
        let gone = verdict(push: TokenVerdictCounts(answers: 10_000, dead: 0, gone: 10_000))
        #expect(gone.quarantine == nil && gone.manyUnregistered != nil)
        let both = verdict(push: TokenVerdictCounts(answers: 400, dead: 200, gone: 200))
        #expect(both.quarantine != nil && both.manyUnregistered != nil)
    }

    @Test func `thresholds are the operators`() {
        let strict = PruneGuard(share: 0.1, answers: 10, window: .seconds(60))
        #expect(
            strict.verdict(push: TokenVerdictCounts(answers: 10, dead: 1), app: TokenVerdictCounts()).quarantine != nil)
        #expect(
            strict.verdict(push: TokenVerdictCounts(answers: 9, dead: 9), app: TokenVerdictCounts()).quarantine == nil)
        let lax = PruneGuard(share: 1, answers: 10, window: .seconds(60))
        #expect(
            lax.verdict(push: TokenVerdictCounts(answers: 1_000, dead: 999), app: TokenVerdictCounts()).quarantine
                == nil)
    }

    @Test func `answers are kept by the minute until they are taken`() throws {
        let log = VerdictLog()
        let app = AppPlatform(try AppKey("shop"), .ios)
        let now: Int64 = 600_000_000
        log.note(app, TokenVerdictCounts(answers: 5), now: now - 11 * 60_000)
        log.note(app, TokenVerdictCounts(answers: 7), now: now - 2 * 60_000)
        log.note(app, TokenVerdictCounts(answers: 1), now: now)
        log.note(app, TokenVerdictCounts(answers: 2, dead: 2), now: now)
        let taken = log.take(app, now: now, window: 10)
        #expect(taken.map(\.age) == [0, 2])
        #expect(taken.map(\.counts) == [TokenVerdictCounts(answers: 3, dead: 2), TokenVerdictCounts(answers: 7)])
        #expect(log.take(app, now: now, window: 10).isEmpty)
        log.putBack(app, taken, now: now)
        #expect(log.take(app, now: now + 60_000, window: 10).map(\.age) == [1, 3])
    }
}
