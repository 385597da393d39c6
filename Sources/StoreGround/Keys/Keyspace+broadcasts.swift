package import LiveActivity
package import Redis

extension Keyspace {
    package func broadcast(_ tag: String) -> RedisKey { key("bc", tag) }
    /// The name's pushes that wait for their broadcast, by sequence number.
    package func broadcastQueue(_ tag: String) -> RedisKey { key("bt", tag) }
    /// The app's broadcast channels: id → name. Their number is counted against APNs's limit of 10,000.
    package func broadcastIndex(_ app: AppKey) -> RedisKey { key("bcn:{\(app)}") }
    /// The lease to make and delete broadcast channels, and the channel that is being made.
    package func broadcastLease(_ app: AppKey) -> RedisKey { key("bcl:{\(app)}") }
    /// Broadcast channels of the app at APNs that Lamplighter has not made.
    package func broadcastForeign(_ app: AppKey) -> RedisKey { key("bcf:{\(app)}") }
    package func broadcastCounts(_ app: AppKey) -> RedisKey { key("bct:{\(app)}") }
    /// An app's names whose broadcast channel is to be made or deleted, by time (ms).
    package func broadcastTimers(_ app: AppKey) -> RedisKey { key("{q}:\(app):bc") }
}
