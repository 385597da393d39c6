import Logging
import Settings

extension GlobalOptions {
    /// A logger for processes. With `--json` it writes JSON lines.
    func logger(_ label: String, _ settings: Settings) -> Logger {
        let format: LogFormat =
            switch settings.log.format {
            case .ecs: .ecs
            case .json: .json
            case .text: json ? .json : .text
            }
        LiveLogLevel.set(settings.log.level)
        return Logger(label: label) { StandardErrorLog(label: $0, format: format) }
    }

    /// A logger for commands that print a result. Without `--log-level` it logs only critical messages.
    func quietLogger(_ label: String, _ settings: Settings) -> Logger {
        var logger = logger(label, settings)
        if logLevel == nil { logger.logLevel = .critical }
        return logger
    }
}
