import Testing

@testable import APNsClient

@Suite struct StreamWindowTests {
    @Test func beginsWithOneRequestAndDoublesPerRoundOfAnswers() {
        var window = StreamWindow(maximum: 1_000)
        #expect(window.size == 1)
        #expect(window.allows(inFlight: 0) && !window.allows(inFlight: 1))
        for expected in [2, 4, 8, 16] {
            for _ in 0..<window.size { window.answered(isAuthenticated: true) }
            #expect(window.size == expected)
        }
    }

    @Test func growsToItsMaximumAndNoFurther() {
        var window = StreamWindow(maximum: 5)
        for _ in 0..<100 { window.answered(isAuthenticated: true) }
        #expect(window.size == 5)
    }

    @Test func answersToBadCredentialsOpenNothing() {
        var window = StreamWindow(maximum: 1_000)
        for _ in 0..<50 { window.answered(isAuthenticated: false) }
        #expect(window.size == 1)
    }

    @Test func lateAnswersShrinkItAndTimelyOnesOpenItAgain() {
        var window = grown(to: 500)
        for _ in 0..<300 { window.answered(isAuthenticated: true, isLate: true) }
        #expect(window.size == 200)
        for _ in 0..<300 { window.answered(isAuthenticated: true, isLate: true) }
        #expect(window.size == StreamWindow.leastForLateness)
        window.answered(isAuthenticated: true)
        #expect(window.size == StreamWindow.leastForLateness + 1)
        var small = grown(to: 7)
        small.answered(isAuthenticated: true, isLate: true)
        #expect(small.size == 7, "a server that is slow by itself keeps what it has")
    }

    @Test func settlesAtWhatTheConnectionTook() {
        var window = grown(to: 128)
        // 100 fit; the other 28 of the round come back together.
        for _ in 0..<28 { window.refused(streams: 100) }
        #expect(window.size == 100)
        for _ in 0..<500 { window.answered(isAuthenticated: true) }
        #expect(window.size == 100)
    }

    @Test func looksForMoreAfterTenWindowsOfAnswers() {
        var window = grown(to: 128)
        window.refused(streams: 100)
        var answers = 0
        while window.size == 100 {
            window.answered(isAuthenticated: true)
            answers += 1
        }
        #expect(answers == 1_000)
        #expect(window.size == 101)
        window.refused(streams: 100)
        #expect(window.size == 100)
    }

    @Test func fallsToOneWithTheServersLimitAndRecovers() {
        var window = grown(to: 500)
        var streams = 500
        window.refused(streams: streams)
        // The limit falls to 1: whatever is handed over comes back until the streams in use have drained.
        while window.size > 1 {
            streams = min(streams, window.size) - 1
            window.refused(streams: max(1, streams))
        }
        #expect(window.allows(inFlight: 0) && !window.allows(inFlight: 1))
        for _ in 0..<5_000 { window.answered(isAuthenticated: true) }
        #expect(window.size == 1_000)
    }

    @Test func neverFallsBelowOne() {
        var window = StreamWindow(maximum: 10)
        for _ in 0..<5 { window.refused(streams: 0) }
        #expect(window.size == 1)
    }

    @Test func beginsAnewAfterARest() {
        var window = grown(to: 500)
        window.refused(streams: 400)
        window.rested()
        #expect(window.size == 1)
        window.answered(isAuthenticated: true)
        #expect(window.size == 2)
    }

    private func grown(to size: Int) -> StreamWindow {
        var window = StreamWindow(maximum: 1_000)
        while window.size < size { window.answered(isAuthenticated: true) }
        return window
    }
}

@Suite struct ReconnectDelayTests {
    @Test func failuresInARowWaitLongerUpToTwoSeconds() {
        var delay = ReconnectDelay()
        var waits: [Int64] = []
        for _ in 0..<9 {
            delay.failed(now: 1_000, jitter: 1)
            waits.append(delay.notBefore - 1_000)
        }
        #expect(waits == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
    }

    @Test func jitterHalvesAtMost() {
        var delay = ReconnectDelay()
        delay.failed(now: 0, jitter: 0)
        #expect(delay.notBefore == 25)
    }

    @Test func aConnectionThatWorkedClearsTheRow() {
        var delay = ReconnectDelay()
        for _ in 0..<5 { delay.failed(now: 0, jitter: 1) }
        delay.proved()
        delay.failed(now: 0, jitter: 1)
        #expect(delay.notBefore == 50)
    }
}
