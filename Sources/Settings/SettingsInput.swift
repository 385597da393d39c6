import FoundationEssentials

/// The sources of the settings, the strongest first: flags, environment, file, and the table's defaults.
public struct SettingsInput: Sendable {
    /// Values by `SettingKey.path`.
    public var flags: [String: String]
    public var environment: [String: String]
    public var file: (path: String, text: String)?
    public static let defaultFile = "config/lamplighter.yaml"
    /// The variable that names the file, like `--config`.
    public static let fileVariable = "LAMPLIGHTER_CONFIG"

    public init(
        flags: [String: String] = [:], environment: [String: String] = [:], file: (path: String, text: String)? = nil
    ) {
        self.flags = flags
        self.environment = environment
        self.file = file
    }

    /// Reads the file. A file that was named must exist, but the default one may be missing.
    public init(flags: [String: String], environment: [String: String], config: String?) throws(SettingsError) {
        self.init(flags: flags, environment: environment)
        let asked = config ?? environment[Self.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        let path = asked ?? Self.defaultFile
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            if asked == nil { return }
            throw .unreadable(path: path, reason: "no such file")
        }
        if isDirectory { throw .unreadable(path: path, reason: "it is a directory") }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .unreadable(path: path, reason: "permission denied")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw .malformed(.file(path, line: nil), reason: "not UTF-8 text")
        }
        file = (path, text)
    }
}
