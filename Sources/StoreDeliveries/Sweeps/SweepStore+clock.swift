import LiveActivity
import Redis
public import StoreGround

extension SweepStore {
    /// Brings forward the attempts of a name's waiting channels, once after each step back of Redis's clock. Only the
    /// holder of the name's retries may do so. If it dies half way, the next one begins again, and some attempts come
    /// too early.
    public func hasten(_ lease: Lease, _ step: ServerTime.Step, now: Int64) async throws(StoreError) {
        let tag = keys.tag(lease.app, lease.name)
        let number = RedisArgument.int(step.number)
        let done = try await redis.run("HGET", keys.nameLeases(tag), "r:s").optionalString()
        guard done != "\(step.number)" else { return }
        try await WorkQueue.hasten(redis, keys.waitingChannels(tag), step, now: now)
        try await redis.run("HSET", keys.nameLeases(tag), "r:s", number)
    }
}
