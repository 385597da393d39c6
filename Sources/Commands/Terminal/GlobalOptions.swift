import ArgumentParser
import Foundation
import Logging
import Settings

/// The options of every command.
struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Configuration file (\(SettingsInput.fileVariable), default \(SettingsInput.defaultFile)).",
            valueName: "file"))
    var config: String?

    @Flag(name: .long, help: "Print results as JSON.")
    var json = false

    @Option(name: .customLong(SettingKey.logLevel.flagName), help: ArgumentHelp(SettingKey.logLevel))
    var logLevel: String?

    /// Loads the settings and prints their warnings to stderr. Flags override the environment, then the
    /// file, then the defaults.
    func settings(_ flags: [SettingKey: String?] = [:]) throws -> Settings {
        var values: [String: String] = [:]
        for (key, value) in flags { values[key.path] = value }
        if let logLevel { values[SettingKey.logLevel.path] = logLevel }
        let input = try SettingsInput(
            flags: values, environment: ProcessInfo.processInfo.environment, config: config)
        let settings = try Settings.load(input)
        for warning in settings.warnings { Terminal.error("warning: \(warning)") }
        return settings
    }

    /// A logger for processes. With `--json` it writes JSON lines.
    func logger(_ label: String, _ settings: Settings) -> Logger {
        let format: LogFormat = json || settings.log.isJSON ? .json : .text
        var logger = Logger(label: label) { StandardErrorLog(label: $0, format: format) }
        logger.logLevel = Logger.Level(rawValue: settings.log.level) ?? .info
        return logger
    }

    /// A logger for commands that print a result. Without `--log-level` it logs only critical messages.
    func quietLogger(_ label: String, _ settings: Settings) -> Logger {
        var logger = logger(label, settings)
        if logLevel == nil { logger.logLevel = .critical }
        return logger
    }
}

extension ArgumentHelp {
    /// Help in the form `summary (ENVIRONMENT, default …).`
    init(_ key: SettingKey) {
        var choices = ""
        if case .choice(let values) = key.form { choices = ": \(values.joined(separator: ", "))" }
        let fallback = key.fallback.map { ", default \($0)" } ?? ""
        let first = key.summary.prefix(1).uppercased() + key.summary.dropFirst()
        self.init("\(first)\(choices) (\(key.environmentName)\(fallback)).", valueName: Self.valueName(key))
    }

    private static func valueName(_ key: SettingKey) -> String {
        switch key.form {
        case .text: String(key.path.split(separator: "_").last?.split(separator: ".").last ?? "text")
        case .whole: "number"
        case .size: "bytes"
        case .seconds: "time"
        case .share: "share"
        case .choice: String(key.path.split(separator: ".").last ?? "choice")
        }
    }
}
