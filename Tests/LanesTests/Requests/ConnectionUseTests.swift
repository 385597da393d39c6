import Testing

@testable import Lanes

@Suite struct ConnectionUseTests {
    @Test func `an answer overtakes what was handed over no later`() {
        var use = ConnectionUse(now: 0)
        #expect(!use.hasOvertaken(0), "nobody was answered")
        use.answered(handedAt: 100, now: 130)
        #expect([99, 100, 101].map { use.hasOvertaken($0) } == [true, true, false])
        use.answered(handedAt: 50, now: 4_000)
        #expect(use.hasOvertaken(100) && !use.hasOvertaken(101), "answers need not come in order")
    }
}
