internal import Logging

/// The settings of one connection's thread.
struct ConnectionSettings: Sendable {
    var url: RedisURL
    var options: RedisOptions
    /// Scripts that each new connection loads.
    var scripts: [RedisScript] = []
    var threadName: String
    var logger: Logger
    var metrics = RedisMetrics()
    /// Set for sentinels: finds the primary, and tells when it is another one.
    var watch: PrimaryWatch?
    /// False for a client whose answers take as long as replicas do (WAIT).
    var measuresRoundTrips = true
}
