import Foundation

/// Time and chance. Tests bring their own.
struct KitClock: Sendable {
    /// Epoch milliseconds. It may jump either way.
    var now: @Sendable () -> Int64
    /// Seconds that only grow, also while the device sleeps.
    var uptime: @Sendable () -> Double
    /// Waits for seconds, or until the task is cancelled.
    var sleep: @Sendable (Double) async -> Void
    var random: @Sendable (ClosedRange<Double>) -> Double

    static let device: KitClock = {
        let start = ContinuousClock.now
        return KitClock(
            now: { Int64(Date().timeIntervalSince1970 * 1_000) },
            uptime: {
                let (seconds, fraction) = (ContinuousClock.now - start).components
                return Double(seconds) + Double(fraction) / 1e18
            },
            sleep: { try? await Task.sleep(for: .seconds($0)) }, random: { Double.random(in: $0) })
    }()
}
