package import LiveActivity
package import Redis

extension Keyspace {
    /// Devices to which a push is sent first.
    package func testDevices(_ app: AppKey) -> RedisKey { key("test:{\(app)}") }
}
