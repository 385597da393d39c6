import Testing
import Threads

/// Tests the waits between attempts to connect, which Redis and APNs share.
@Suite struct BackoffTests {
    @Test func `the first attempt is due at once and later ones within two seconds`() {
        var delay = ReconnectDelay()
        #expect(delay.remaining(now: 1_000) == nil)
        var waits: [Int64] = []
        for _ in 0..<40 {
            delay.failed(now: 1_000, fraction: 1)
            waits.append(delay.notBefore - 1_000)
        }
        #expect(waits.prefix(7) == [50, 100, 200, 400, 800, 1_600, 2_000])
        #expect(waits.dropFirst(6).allSatisfy { $0 == 2_000 })
        #expect(delay.remaining(now: 2_000) == .seconds(1) && delay.remaining(now: 3_000) == nil)
        delay.succeeded()
        #expect(delay.remaining(now: 1_000) == nil && delay.failures == 0)
        delay.failed(now: 0, fraction: 0.5)
        #expect(delay.notBefore == 25)
    }
}
