internal import Logging

/// The settings of one connection's thread.
struct ConnectionSettings: Sendable {
    var url: RedisURL
    var options: RedisOptions
    /// Scripts that each new connection loads.
    var scripts: [RedisScript] = []
    var threadName: String
    var logger: Logger
}
