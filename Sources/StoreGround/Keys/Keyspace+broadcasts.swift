import LiveActivity
import Redis

extension Keyspace {
    func broadcast(_ tag: String) -> RedisKey { key("bc:\(tag)") }
    /// The name's pushes that wait for their broadcast, by sequence number.
    func broadcastQueue(_ tag: String) -> RedisKey { key("bt:\(tag)") }
    /// The app's broadcast channels: id → name. Their number is counted against APNs's limit of 10,000.
    func broadcastIndex(_ app: AppKey) -> RedisKey { key("bcn:{\(app)}") }
    /// The lease to make and delete broadcast channels, and the one that is being made.
    func broadcastLease(_ app: AppKey) -> RedisKey { key("bcl:{\(app)}") }
    /// Broadcast channels of the app at APNs that Lamplighter has not made.
    func broadcastForeign(_ app: AppKey) -> RedisKey { key("bcf:{\(app)}") }
    func broadcastCounts(_ app: AppKey) -> RedisKey { key("bct:{\(app)}") }
    /// An app's names whose broadcast channel is to be made or deleted, by time (ms).
    func broadcastTimers(_ app: AppKey) -> RedisKey { key("{q}:\(app):bc") }
}
