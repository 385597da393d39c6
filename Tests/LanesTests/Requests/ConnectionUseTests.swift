import Testing

@testable import Lanes

@Suite struct ConnectionUseTests {
    @Test func `an answer overtakes what was handed over no later`() {
        var use = ConnectionUse(now: 0)
        #expect(blamed([0], in: &use).isEmpty, "nobody was answered")
        use.answered(handedAt: 100, now: 130)
        #expect(blamed([101], in: &use).isEmpty)
        use.answered(handedAt: 50, now: 4_000)
        #expect(blamed([101], in: &use).isEmpty, "answers need not come in order")
        #expect(blamed([99, 100], in: &use) == [99, 100])
    }

    /// Silent phones hold all streams. The last one has taken the stream of the last answer, so no answer can overtake
    /// it. Then the server hangs, though it answers PINGs.
    @Test func `a request beside silent phones is not the connection's fault, and a later one is`() {
        var use = ConnectionUse(now: 0)
        use.answered(handedAt: 100, now: 102)
        #expect(blamed([99, 103, 8_099, 8_100], in: &use) == [99, 103, 8_099], "8,100 had a stream that 99 gave back")
    }

    /// The requests of `handedAt` for whose lateness their phones are blamed. All end after eight seconds.
    private func blamed(_ handedAt: [Int64], in use: inout ConnectionUse) -> [Int64] {
        handedAt.filter { use.noteLate(handedAt: $0, now: $0 + 8_000) }
    }
}
