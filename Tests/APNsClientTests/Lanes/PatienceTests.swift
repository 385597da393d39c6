import Testing

@testable import APNsClient

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

    /// - Returns: for how many requests it was enough, at most 10,000
    private func takeAll(_ credit: inout OpenRequestCredit) -> Int {
        (0..<10_000).first { _ in !credit.take(1) } ?? 10_000
    }

    @Test func `all lanes together leave a bounded number open`() {
        for lanes in [1, 2, 4, 8] {
            var credit = OpenRequestCredit(lanes: lanes)
            #expect(takeAll(&credit) == 64, "\(lanes) lanes")
            for _ in 0..<100_000 { credit.answered() }
            #expect(takeAll(&credit) * lanes == 512, "\(lanes) lanes")
        }
    }

    @Test func `many lanes can still leave a whole part open`() {
        var credit = OpenRequestCredit(lanes: 500)
        #expect(credit.has(32))
        let isTaken = credit.take(32)
        #expect(isTaken && !credit.has(1))
    }

    @Test func `eight answers in time restore one`() {
        var credit = OpenRequestCredit(lanes: 1)
        _ = takeAll(&credit)
        for _ in 0..<7 { credit.answered() }
        #expect(!credit.has(1))
        credit.answered()
        #expect(credit.has(1) && !credit.has(2))
    }

    @Test func `five of a hundred silent phones never use it up, half of them do`() {
        func rest(silent: Int) -> Bool {
            var credit = OpenRequestCredit(lanes: 1)
            for number in 0..<10_000 {
                if number % 100 >= silent {
                    credit.answered()
                } else if !credit.take(1) {
                    return false
                }
            }
            return true
        }
        #expect(rest(silent: 5))
        #expect(!rest(silent: 50))
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
