import Glibc
import LiveActivity
import Logging
import Threads

/// Writes each message as one line to stderr. One write per line keeps the lines of several threads and processes
/// whole. Control characters are escaped, so that text from a client cannot forge a line.
struct StandardErrorLog: LogHandler {
    let label: String
    let format: LogFormat
    /// The logger's own level. Nil: the process's level, which a reload can change.
    private var ownLevel: Logger.Level?
    var metadata: Logger.Metadata = [:]

    init(label: String, format: LogFormat) {
        self.label = label
        self.format = format
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? LiveLogLevel.process.current }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let own = event.metadata { all.merge(own) { _, new in new } }
        if let error = event.error { all["error"] = "\(error)" }
        let line = LogLine(
            time: wallClock(), level: event.level, label: label, message: event.message.description,
            metadata: all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        Terminal.put(line.rendered(format) + "\n", to: STDERR_FILENO)
    }
}

/// The least severe level that this process logs. A reload changes it for all loggers that have no level of their own.
enum LiveLogLevel {
    static let process = Replaceable(Logger.Level.info)

    static func set(_ text: String) { process.replace(with: Logger.Level(rawValue: text) ?? .info) }
}
