import Testing

@testable import Redis

@Suite struct BackoffTests {
    @Test func `the first attempt is due at once and later ones within two seconds`() {
        var backoff = ReconnectBackoff()
        let now = ContinuousClock.now
        #expect(backoff.remaining(at: now) == nil)
        var ceilings: [Duration] = []
        for _ in 0..<40 {
            backoff.failed(at: now, random: 1)
            ceilings.append(backoff.remaining(at: now) ?? .zero)
        }
        #expect(
            ceilings.prefix(7) == [
                .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
                .milliseconds(1_600), .seconds(2),
            ])
        #expect(ceilings.dropFirst(6).allSatisfy { $0 == .seconds(2) })
        #expect(backoff.remaining(at: now + .seconds(2)) == nil)
        backoff.succeeded()
        #expect(backoff.remaining(at: now) == nil)
        #expect(backoff.failures == 0)
    }

    @Test func `jitter is full`() {
        let now = ContinuousClock.now
        var waits: [Duration] = []
        for _ in 0..<1_000 {
            var backoff = ReconnectBackoff()
            for _ in 0..<10 { backoff.failed(at: now) }
            waits.append(backoff.remaining(at: now) ?? .zero)
        }
        // The pauses use the whole range up to two seconds. The chance that this fails is below one in 10^20.
        #expect(waits.contains { $0 < .milliseconds(200) })
        #expect(waits.contains { $0 > .milliseconds(1_800) })
    }
}
