import Testing

@testable import APNsClient

@Suite struct StreamAllowanceTests {
    private func answer(_ allowance: inout StreamAllowance, times: Int, isLate: Bool = false, serverLimit: Int) {
        for _ in 0..<times {
            allowance.answered(isAuthenticated: true, isLate: isLate, serverLimit: serverLimit)
        }
    }

    @Test func `begins with one request whatever the server allows`() {
        #expect(StreamAllowance(maximum: 1_000).size(serverLimit: 1_000) == 1)
    }

    @Test func `each answer opens places up to the servers limit`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 3, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 25)
        answer(&allowance, times: 1_000, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 500)
    }

    @Test func `our own maximum holds too`() {
        var allowance = StreamAllowance(maximum: 30)
        answer(&allowance, times: 100, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 30)
    }

    @Test func `a limit that falls counts at once and one that rises again too`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 500)
        #expect(allowance.size(serverLimit: 1) == 1)
        #expect(allowance.size(serverLimit: 0) == 0)
        #expect(allowance.size(serverLimit: 500) == 500)
    }

    @Test func `an answer that our credentials spoilt opens nothing`() {
        var allowance = StreamAllowance(maximum: 1_000)
        allowance.answered(isAuthenticated: false, isLate: false, serverLimit: 1_000)
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }

    @Test func `late answers close places down to a hundred`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 1_000)
        answer(&allowance, times: 10, isLate: true, serverLimit: 400)
        #expect(allowance.size(serverLimit: 1_000) == 390)
        answer(&allowance, times: 1_000, isLate: true, serverLimit: 400)
        #expect(allowance.size(serverLimit: 400) == 100)
    }

    @Test func `late answers do not open what was smaller`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 3, serverLimit: 1_000)
        answer(&allowance, times: 50, isLate: true, serverLimit: 1_000)
        #expect(allowance.size(serverLimit: 1_000) == 25)
    }

    @Test func `a server that has fallen to one stream is no reason to forget what it took`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 1_000)
        answer(&allowance, times: 10, isLate: true, serverLimit: 1)
        #expect(allowance.size(serverLimit: 1_000) == 990)
    }

    @Test func `refused streams close places until the connection is of no use`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1, serverLimit: 3)
        let isOfUse = (0..<3).map { _ in allowance.refused(serverLimit: 1_000) }
        #expect(isOfUse == [true, true, false])
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }

    @Test func `a rested connection begins anew`() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 100, serverLimit: 1_000)
        allowance.rested()
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }
}
