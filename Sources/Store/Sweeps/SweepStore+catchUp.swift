public import LiveActivity
import Redis

/// A channel that registered a token during a sweep. If it registers again, it moves to the end.
public struct CatchUpArrival: Sendable, Hashable {
    public var channel: [UInt8]
    /// Rises in the order of arrival.
    public var order: Int64
}

extension SweepStore {
    /// Channels for the catch-up of the active push, in the order of arrival, after `order`. They stay until their page
    /// is settled.
    public func arrivals(
        _ app: AppKey, _ name: ActivityName, after order: Int64, limit: Int
    ) async throws(StoreError) -> [CatchUpArrival] {
        let key = keys.catchUp(keys.tag(app, name))
        let reply = try await redis.run(
            "ZRANGEBYSCORE", key, .string("(\(order)"), "+inf", "WITHSCORES", "LIMIT", "0", .int(limit))
        return try reply.pairs().map { channel, order throws(StoreError) in
            CatchUpArrival(channel: Array(try channel.bytes()), order: try order.optionalTime() ?? .max)
        }
    }
}
