import Testing

@testable import Lanes

/// Tests that large pages are spread over the round trip.
@Suite struct RequestSpreadTests {
    @Test func `a connection that is free at once is not filled at once`() {
        var spread = RequestSpread()
        spread.turn(now: 0, streams: 1_000, pace: 50)
        #expect(spread.left == 45, "an eighth more than what answers free in two milliseconds")
        #expect(spread.later(of: 1_000, now: 0) == 955)
        spread.began(45)
        #expect(spread.later(of: 955, now: 1) == 955)
        spread.turn(now: 1, streams: 1_000, pace: 50)
        #expect(spread.left == 0, "before its time there is no next portion")
        #expect(spread.later(of: 955, now: 2) == 0, "who sleeps until then is not asleep over it")
        spread.turn(now: 2, streams: 1_000, pace: 50)
        #expect(spread.left == 45)
    }

    /// If responses come evenly, a portion is always available.
    @Test func `what is spread is not held back`() {
        var spread = RequestSpread()
        for now in 0..<Int64(100) {
            spread.turn(now: now, streams: 1_000, pace: 50)
            #expect(spread.later(of: 20, now: now) == 0)
            spread.began(20)
        }
    }

    /// All streams are used within one round trip, however slow it is and however few they are.
    @Test func `it is no bound`() {
        for (streams, pace) in [(1_000, Int64(5)), (1_000, 30), (1_000, 500), (100, 50), (9, 200)] {
            var spread = RequestSpread()
            var begun = 0
            for now in 0..<pace {
                spread.turn(now: now, streams: streams, pace: pace)
                let count = min(spread.left, streams)
                spread.began(count)
                begun += count
            }
            #expect(begun >= streams)
        }
    }

    @Test func `quick answers and unknown ones hold nothing back`() {
        for pace in [Int64(0), 1, 4, 16] {
            var spread = RequestSpread()
            spread.turn(now: 0, streams: 1_000, pace: pace)
            #expect(spread.later(of: 1_000, now: 0) == 0)
            spread.began(1_000)
            #expect(spread.later(of: 1_000, now: 0) == 0)
        }
        var spread = RequestSpread()
        spread.turn(now: 0, streams: 1_000, pace: 1)
        spread.turn(now: 0, streams: 1_000, pace: 50)
        #expect(spread.left == 45, "it has become slower")
    }
}
