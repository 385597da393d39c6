package import LiveActivity
package import Redis

extension Keyspace {
    /// Sketches of an app's cards.
    package func sketches(_ app: AppKey) -> RedisKey { key("sketch:{\(app)}") }
}
