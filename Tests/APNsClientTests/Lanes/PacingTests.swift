import Testing

@testable import APNsClient

/// Tests that large pages are spread over the round trip.
@Suite struct PacingTests {
    @Test func `a connection that is free at once is not filled at once`() {
        var pacing = Pacing()
        pacing.turn(now: 0, streams: 1_000, pace: 50)
        #expect(pacing.left == 45, "an eighth more than what answers free in two milliseconds")
        #expect(pacing.later(of: 1_000, now: 0) == 955)
        pacing.began(45)
        #expect(pacing.later(of: 955, now: 1) == 955)
        pacing.turn(now: 1, streams: 1_000, pace: 50)
        #expect(pacing.left == 0, "before its time there is no next portion")
        #expect(pacing.later(of: 955, now: 2) == 0, "who sleeps until then is not asleep over it")
        pacing.turn(now: 2, streams: 1_000, pace: 50)
        #expect(pacing.left == 45)
    }

    /// If responses come evenly, a portion is always available.
    @Test func `what is spread is not held back`() {
        var pacing = Pacing()
        for now in 0..<Int64(100) {
            pacing.turn(now: now, streams: 1_000, pace: 50)
            #expect(pacing.later(of: 20, now: now) == 0)
            pacing.began(20)
        }
    }

    /// All streams are used within one round trip, however slow it is and however few they are.
    @Test func `it is no bound`() {
        for (streams, pace) in [(1_000, Int64(5)), (1_000, 30), (1_000, 500), (100, 50), (9, 200)] {
            var pacing = Pacing()
            var begun = 0
            for now in 0..<pace {
                pacing.turn(now: now, streams: streams, pace: pace)
                let count = min(pacing.left, streams)
                pacing.began(count)
                begun += count
            }
            #expect(begun >= streams)
        }
    }

    @Test func `quick answers and unknown ones hold nothing back`() {
        for pace in [Int64(0), 1, 4, 16] {
            var pacing = Pacing()
            pacing.turn(now: 0, streams: 1_000, pace: pace)
            #expect(pacing.later(of: 1_000, now: 0) == 0)
            pacing.began(1_000)
            #expect(pacing.later(of: 1_000, now: 0) == 0)
        }
        var pacing = Pacing()
        pacing.turn(now: 0, streams: 1_000, pace: 1)
        pacing.turn(now: 0, streams: 1_000, pace: 50)
        #expect(pacing.left == 45, "it has become slower")
    }
}
