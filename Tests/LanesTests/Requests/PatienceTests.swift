import Testing

@testable import Lanes

/// Tests how long a page waits for an answer, and how many requests a lane may leave open.
@Suite struct PatienceTests {
    private func patience(_ answers: [Int64], timeout: Int64 = 10_000) -> Int64 {
        answers.reduce(into: Patience()) { $0.answered(after: $1) }.value(timeout: timeout)
    }

    @Test func `without answers it is half a second, or a quarter of a short time limit`() {
        #expect(patience([]) == 500)
        #expect(patience([], timeout: 1_000) == 250)
        #expect(patience([], timeout: 1) == 1)
    }

    @Test func `a few answers shorten it no more than to half a second`() {
        #expect(patience(Array(repeating: 5, count: 15)) == 500)
        #expect(patience([400]) == 2_400, "one slow answer may be a slow server")
    }

    @Test func `it follows the answers between a floor and a quarter of the time limit`() {
        #expect(patience(Array(repeating: 30, count: 200)) == 300)
        #expect((480...520).contains(patience(Array(repeating: 250, count: 200))))
        #expect(patience(Array(repeating: 2_700, count: 200)) == 2_500)
        #expect(patience(Array(repeating: 30, count: 200), timeout: 400) == 100)
    }

    @Test func `jitter makes it longer`() {
        let jitter = (0..<400).map { Int64($0 % 2 == 0 ? 80 : 160) }
        #expect((500...600).contains(patience(jitter)))
    }

    @Test func `it grows with a server that becomes slow, and comes back`() {
        var patience = Patience()
        for _ in 0..<100 { patience.answered(after: 30) }
        for _ in 0..<20 { patience.answered(after: 2_000) }
        #expect(patience.value(timeout: 10_000) == 2_500)
        for _ in 0..<100 { patience.answered(after: 30) }
        #expect(patience.value(timeout: 10_000) == 300)
    }

    @Test func `a time that runs backwards counts as none`() {
        #expect(patience([-5_000]) == 500)
    }

    // MARK: Credit

    /// Takes as many requests as the credit allows, one by one, none of which an answer has overtaken.
    private func takeAll(_ credit: inout OpenRequestCredit, now: Int64 = 0) -> Int {
        (0..<10_000).first { _ in !credit.take(1, handedAt: .max, now: now) } ?? 10_000
    }

    @Test func `all lanes together leave a bounded number open while nobody is answered`() {
        for (lanes, each) in [(1, 64), (2, 64), (8, 64), (10, 51), (64, 32)] {
            var credit = OpenRequestCredit(lanes: lanes)
            #expect(takeAll(&credit) == each, "\(lanes) lanes")
            #expect(takeAll(&credit, now: 1_000_000) == each, "\(lanes) lanes, later")
        }
    }

    @Test func `many lanes can still leave a whole part open`() {
        var credit = OpenRequestCredit(lanes: 500)
        let isTaken = credit.take(32, handedAt: 0, now: 0)
        let isMore = credit.take(1, handedAt: 0, now: 0)
        #expect(isTaken && !isMore)
    }

    @Test func `credit comes back with time, a part in a second`() {
        var credit = OpenRequestCredit(lanes: 1)
        _ = takeAll(&credit, now: 5_000)
        #expect(credit.due(32, handedAt: 5_000) == 6_000)
        let isEarly = credit.take(32, handedAt: 5_000, now: 5_999)
        #expect(!isEarly)
        let isDue = credit.take(32, handedAt: 5_000, now: 6_000)
        #expect(isDue && credit.due(32, handedAt: 5_000) == 7_000)
    }

    @Test func `requests that an answer in time has overtaken cost nothing`() {
        var credit = OpenRequestCredit(lanes: 1)
        credit.answered(handedAt: 900, now: 930, patience: 300)
        for _ in 0..<10_000 {
            let isTaken = credit.take(32, handedAt: 900, now: 1_000)
            #expect(isTaken)
        }
        #expect(takeAll(&credit, now: 1_000) == 64)
        let isYounger = credit.take(1, handedAt: 901, now: 1_000)
        #expect(!isYounger, "nobody was answered since")
        credit.answered(handedAt: 500, now: 800, patience: 300)
        let isOlder = credit.take(1, handedAt: 900, now: 1_000)
        #expect(isOlder, "answers need not come in order")
    }

    @Test func `a late answer says nothing of the requests that it has overtaken`() {
        var credit = OpenRequestCredit(lanes: 1)
        _ = takeAll(&credit, now: 1_000)
        credit.answered(handedAt: 1_000, now: 1_301, patience: 300)
        #expect(credit.due(1, handedAt: 1_000) > 1_000)
        credit.answered(handedAt: 1_000, now: 1_300, patience: 300)
        #expect(credit.due(1, handedAt: 1_000) == 1_000)
    }

    // MARK: Shut connections

    @Test func `each further connection waits twice as long`() {
        var shut = ShutConnections()
        #expect(shut.mayPass(now: 0))
        shut.passed(now: 1_000, wait: 300)
        #expect(!shut.mayPass(now: 1_599) && shut.mayPass(now: 1_600))
        shut.passed(now: 2_000, wait: 300)
        #expect(!shut.mayPass(now: 3_199) && shut.mayPass(now: 3_200))
        shut.answered()
        #expect(shut.mayPass(now: 2_000))
        for _ in 0..<100 { shut.passed(now: 0, wait: 1_000) }
        #expect(shut.mayPass(now: 64_000))
    }

    @Test func `only two tokens in a row without any answer tell of the server`() {
        var shut = ShutConnections()
        let sure = [[1], [1], [2], [2]].map { shut.isSure(without: $0) }
        #expect(sure == [false, false, true, false])
        shut.answered()
        let again = shut.isSure(without: [1])
        #expect(!again)
    }
}
