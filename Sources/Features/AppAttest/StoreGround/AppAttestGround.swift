package import LiveActivity
package import Redis

extension Lua {
    package static let attestCount = script("attest-count")
}

extension Keyspace {
    /// A key that App Attest vouched for: its point, its counter, and a digest of its channel.
    package func attestedKey(_ app: AppKey, _ digest: String) -> RedisKey { key("att:{\(app):\(digest)}") }
    /// A challenge that was used.
    package func usedChallenge(_ app: AppKey, _ digest: String) -> RedisKey { key("chal:{\(app):\(digest)}") }
}
