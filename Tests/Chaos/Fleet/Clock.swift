import Foundation
import Synchronization

/// The time of the run: milliseconds from its start, and the wall clock for registrations.
final class Clock: Sendable {
    private let started = Mutex(ContinuousClock.now)

    private var start: ContinuousClock.Instant { started.withLock { $0 } }

    /// Begins the plan's time, when everything is ready.
    func begin() { started.withLock { $0 = .now } }

    var now: Int { Int((ContinuousClock.now - start) / .milliseconds(1)) }

    static var epoch: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    func sleep(until at: Int) async {
        try? await Task.sleep(until: start + .milliseconds(at), clock: .continuous)
    }

    /// `0:07.250`
    static func stamp(_ milliseconds: Int) -> String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return "\(seconds / 60):\(padded(seconds % 60, 2)).\(padded(rest, 3))"
    }

    private static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
