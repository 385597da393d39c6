import LiveActivity
import Redis
import Synchronization

/// The one clock of a deployment: Redis's clock, as this process last measured it. Times that processes send to Redis
/// (registrations, due times) can be compared, however much their clocks differ. Scripts that decide an order ask Redis
/// itself. Between measurements it follows the boot clock, which is never set; before the first it is the machine's.
public final class ServerTime: Sendable {
    /// How often a process should measure. A quartz clock drifts by about 50 µs a second.
    public static let interval: Duration = .seconds(30)

    private let redis: RedisClient
    private let machine: @Sendable () -> Int64
    /// Redis's epoch milliseconds minus milliseconds since boot.
    private let offset = Mutex<Int64?>(nil)

    /// - Parameter machine: this machine's clock, epoch milliseconds.
    init(redis: RedisClient, machine: @escaping @Sendable () -> Int64 = wallClock) {
        self.redis = redis
        self.machine = machine
    }

    /// Epoch milliseconds.
    @Sendable
    public func now() -> Int64 { offset.withLock { $0 }.map { $0 + bootClock() } ?? machine() }
    /// How far this machine's clock is ahead of Redis's, in milliseconds; nil before the first measurement.
    public var machineAhead: Int64? { offset.withLock { $0 }.map { machine() - bootClock() - $0 } }

    /// Asks Redis three times and uses the fastest answer, which is wrong by at most half of its round trip.
    public func measure() async throws(StoreError) {
        var best: (trip: Int64, offset: Int64)?
        for _ in 0..<3 {
            let asked = bootClock()
            let reply = try await redis.run(RedisCommand("TIME", near: Keyspace.queue))
            let answered = bootClock()
            let time = try reply.redisTime()
            let trip = answered - asked
            if trip < best?.trip ?? .max { best = (trip, time - asked - trip / 2) }
        }
        if let best { offset.withLock { $0 = best.offset } }
    }
}
