public import LiveActivity
import Redis

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
