import Logging
import Threads

/// The least severe level that this process logs. A reload changes it for all loggers that have no level of their own.
enum LiveLogLevel {
    static let process = Replaceable(Logger.Level.info)

    static func set(_ text: String) { process.replace(with: Logger.Level(rawValue: text) ?? .info) }
}
