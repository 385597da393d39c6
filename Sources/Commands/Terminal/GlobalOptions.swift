import ArgumentParser
import FoundationEssentials
import Settings

struct GlobalOptions: ParsableArguments {
    @Option(
        help: .value(
            "file",
            """
            Configuration file (\(SettingsInput.fileVariable), default \(SettingsInput.defaultFile) or \
            \(SettingsInput.systemFile)).
            """))
    var config: String?
    @Flag(help: "Print results as JSON.") var json = false
    @Option(\.log.level) var logLevel: SettingFlag?

    /// Loads the settings and prints their warnings to stderr. The strongest first: flags, environment, file, defaults.
    func settings(_ flags: [SettingFlag?] = []) throws -> Settings {
        let settings = try reloader(flags)()
        for warning in settings.warnings { Terminal.error("warning: \(warning)") }
        return settings
    }

    /// Loads the settings as often as it is called, each time from the file as it is then.
    func reloader(_ flags: [SettingFlag?]) -> @Sendable () throws -> Settings {
        var values: [String: String] = [:]
        for case let flag? in flags + [logLevel] { values[flag.key.path] = flag.text }
        return { [values, config] in
            try Settings.load(
                SettingsInput(
                    flags: values, environment: ProcessInfo.processInfo.environment, config: config))
        }
    }
}
