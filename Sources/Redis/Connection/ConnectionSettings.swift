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
    /// Tells when connections have to leave their server.
    var watch: (any ServerWatch)?
    /// False for a client whose answers take as long as replicas do (WAIT).
    var measuresRoundTrips = true

    /// These settings for connections that only ask where the servers are. They have no scripts and no log: a server
    /// that is away would be reported at every question.
    /// - Parameter patience: the longest wait, because a machine that is off never answers
    func asking(_ threadName: String, patience: Duration) -> ConnectionSettings {
        var settings = self
        (settings.scripts, settings.threadName, settings.watch) = ([], threadName, nil)
        settings.logger = Logger(label: threadName) { _ in SwiftLogNoOpLogHandler() }
        settings.options.connectTimeout = min(options.connectTimeout, patience)
        settings.options.commandTimeout = min(options.commandTimeout, patience)
        return settings
    }
}
