import Testing

@testable import Redis

/// Tests what follows from the answers of several sentinels.
@Suite struct SentinelAnswerTests {
    private static let old = RedisAddress.tcp(host: "10.0.0.1", port: 6_379)
    private static let new = RedisAddress.tcp(host: "10.0.0.2", port: 6_379)

    private func answer(
        _ primary: RedisAddress, _ epoch: Int? = 1, failingOver: Bool = false, downFor: Duration? = nil
    ) -> SentinelAnswer {
        var answer = SentinelAnswer(primary: primary, epoch: epoch)
        (answer.isFailingOver, answer.downFor) = (failingOver, downFor)
        return answer
    }
    private func mustLeave(_ answers: [SentinelAnswer]) -> Bool {
        answers.objection(to: Self.old, isInUse: true) != nil
    }
    private func mayConnect(_ answers: [SentinelAnswer]) -> Bool {
        answers.objection(to: Self.old, isInUse: false) == nil
    }

    @Test func `without answers a connection stays, and nothing is the primary`() {
        #expect([].primary() == nil && !mustLeave([]))
    }

    @Test func `the newest configuration counts, also if one sentinel alone has it yet`() {
        let answers = [answer(Self.old), answer(Self.new, 2), answer(Self.old)]
        #expect(answers.primary() == Self.new && mustLeave(answers))
        #expect(answers.objection(to: Self.new, isInUse: false) == nil)
    }

    @Test func `a sentinel that was away and has an old configuration counts for nothing`() {
        let answers = [answer(Self.new, 1), answer(Self.new, 1), answer(Self.old, 2)]
        #expect(answers.primary() == Self.old && !mustLeave(answers))
    }

    @Test func `of answers with the same number, or without one, the majority counts`() {
        for epoch in [1, nil] {
            let most = [answer(Self.old, epoch), answer(Self.new, epoch), answer(Self.new, epoch)]
            #expect(most.primary() == Self.new && mustLeave(most))
            let half = [answer(Self.new, epoch), answer(Self.old, epoch)]
            #expect(half.primary() == Self.new && !mustLeave(half), "a tie changes nothing")
        }
        #expect([answer(Self.new, nil), answer(Self.old, 9), answer(Self.old, 9)].primary() == Self.old)
    }

    @Test func `a server that one sentinel replaces is left, and not connected to`() {
        let answers = [answer(Self.old), answer(Self.old, failingOver: true), answer(Self.old)]
        #expect(mustLeave(answers) && !mayConnect(answers))
    }

    @Test func `a sentinel that alone does not reach the server makes nobody leave it`() {
        let answers = [answer(Self.old), answer(Self.old, failingOver: true, downFor: .seconds(3)), answer(Self.old)]
        #expect(!mustLeave(answers))
        #expect(!mayConnect(answers), "it may have come back while it is replaced")
        let most = answers.dropLast() + [answer(Self.old, downFor: .seconds(3))]
        #expect(mustLeave(Array(most)))
    }

    @Test func `a server that most sentinels do not reach gets no new connection for a minute`() {
        func answers(_ time: Duration) -> [SentinelAnswer] {
            [answer(Self.old, downFor: time), answer(Self.old), answer(Self.old, downFor: time)]
        }
        #expect(!mayConnect(answers(.seconds(59))) && !mustLeave(answers(.seconds(59))))
        #expect(mayConnect(answers(.seconds(61))), "they cannot replace it")
        #expect(mayConnect([answer(Self.old, downFor: .zero), answer(Self.old)]))
    }

    @Test func `flags of the old primary say nothing against the new one`() {
        var leader = answer(Self.new, 2, failingOver: true, downFor: .seconds(9))
        leader.judged = Self.old
        #expect([leader].objection(to: Self.new, isInUse: false) == nil && mustLeave([leader]))
    }
}
