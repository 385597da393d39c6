import Testing

@testable import APNsClient

@Suite struct StreamAllowanceTests {
    private func answer(_ allowance: inout StreamAllowance, times: Int, isLate: Bool = false, serverLimit: Int) {
        for _ in 0..<times {
            allowance.answered(isAuthenticated: true, isLate: isLate, serverLimit: serverLimit)
        }
    }

    @Test func beginsWithOneRequestWhateverTheServerAllows() {
        #expect(StreamAllowance(maximum: 1_000).size(serverLimit: 1_000) == 1)
    }

    @Test func eachAnswerOpensPlacesUpToTheServersLimit() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 3, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 25)
        answer(&allowance, times: 1_000, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 500)
    }

    @Test func ourOwnMaximumHoldsToo() {
        var allowance = StreamAllowance(maximum: 30)
        answer(&allowance, times: 100, serverLimit: 500)
        #expect(allowance.size(serverLimit: 500) == 30)
    }

    @Test func aLimitThatFallsCountsAtOnceAndOneThatRisesAgainToo() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 500)
        #expect(allowance.size(serverLimit: 1) == 1)
        #expect(allowance.size(serverLimit: 0) == 0)
        #expect(allowance.size(serverLimit: 500) == 500)
    }

    @Test func anAnswerThatOurCredentialsSpoiltOpensNothing() {
        var allowance = StreamAllowance(maximum: 1_000)
        allowance.answered(isAuthenticated: false, isLate: false, serverLimit: 1_000)
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }

    @Test func lateAnswersClosePlacesDownToAHundred() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 1_000)
        answer(&allowance, times: 10, isLate: true, serverLimit: 400)
        #expect(allowance.size(serverLimit: 1_000) == 390)
        answer(&allowance, times: 1_000, isLate: true, serverLimit: 400)
        #expect(allowance.size(serverLimit: 400) == 100)
    }

    @Test func lateAnswersDoNotOpenWhatWasSmaller() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 3, serverLimit: 1_000)
        answer(&allowance, times: 50, isLate: true, serverLimit: 1_000)
        #expect(allowance.size(serverLimit: 1_000) == 25)
    }

    @Test func aServerThatHasFallenToOneStreamIsNoReasonToForgetWhatItTook() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1_000, serverLimit: 1_000)
        answer(&allowance, times: 10, isLate: true, serverLimit: 1)
        #expect(allowance.size(serverLimit: 1_000) == 990)
    }

    @Test func refusedStreamsClosePlacesUntilTheConnectionIsOfNoUse() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 1, serverLimit: 3)
        let isOfUse = (0..<3).map { _ in allowance.refused(serverLimit: 1_000) }
        #expect(isOfUse == [true, true, false])
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }

    @Test func aRestedConnectionBeginsAnew() {
        var allowance = StreamAllowance(maximum: 1_000)
        answer(&allowance, times: 100, serverLimit: 1_000)
        allowance.rested()
        #expect(allowance.size(serverLimit: 1_000) == 1)
    }
}
