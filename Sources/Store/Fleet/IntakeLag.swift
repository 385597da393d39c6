public import LiveActivity
import Redis

/// How far the gateways are behind those who write into an app's intake.
public struct IntakeLag: Sendable, Hashable {
    /// Entries without an answer.
    public var waiting = 0
    /// The age of the oldest one in milliseconds. 0 if none waits.
    public var oldest: Int64 = 0
}

extension WorkQueue {
    /// Also counts the intakes that no gateway reads: their writers wait for nothing.
    /// - Parameter now: epoch ms of Redis's clock
    public func intakeLag(_ apps: [AppKey], now: Int64) async throws(StoreError) -> [IntakeLag] {
        let questions = apps.flatMap { app in
            [
                RedisCommand("XLEN", keys.intake(app)),
                RedisCommand("XRANGE", keys.intake(app), "-", "+", "COUNT", "1"),
            ]
        }
        var rest = try await redis.run(questions)[...]
        return try apps.map { _ throws(StoreError) in
            let waiting = try rest.removeFirst().integer()
            return IntakeLag(waiting: waiting, oldest: try Self.age(rest.removeFirst(), now))
        }
    }
}
