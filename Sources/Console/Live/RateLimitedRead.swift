import Synchronization

/// A value that a live part shows, and that costs too much for each of its looks.
final class RateLimitedRead<Value: Sendable>: Sendable {
    private let interval: Int64
    private let kept = Mutex<(value: Value, at: Int64)?>(nil)

    /// - Parameter seconds: the age at which the value is read again
    init(seconds: Int) { interval = Int64(seconds) * 1_000 }

    /// - Parameters:
    ///   - now: epoch ms
    ///   - read: reads the value. If it throws, the next look reads it again.
    func value(now: Int64, read: () async throws -> Value) async rethrows -> Value {
        if let kept = kept.withLock(\.self), (0..<interval).contains(now - kept.at) { return kept.value }
        let value = try await read()
        kept.withLock { $0 = (value, now) }
        return value
    }
}
