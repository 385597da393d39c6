import Synchronization

/// A worker's clock that moves only when a test says so.
final class TestClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_000_000)

    var now: Int64 { milliseconds.withLock { $0 } }

    func move(by duration: Duration) { milliseconds.withLock { $0 += Int64(duration / .milliseconds(1)) } }
}
