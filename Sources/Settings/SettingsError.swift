/// A problem of the configuration: the key, its source and the expected value. It never holds a secret's value.
public enum SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file that was named does not exist or cannot be read.
    case unreadable(path: String, reason: String)
    /// The text is not YAML, or does not have the shape of a settings file.
    case malformed(SettingOrigin, reason: String)
    case unknownKey(String, SettingOrigin, nearest: String?)
    /// `found` is nil for secrets.
    case invalid(key: String, SettingOrigin, found: String?, expected: String)
    case missing(key: String, remedy: String)
    case conflict(key: String, SettingOrigin, reason: String)
    /// Each setting alone is right, but not together with others.
    case unusable(key: String, reason: String)
    /// A file that a setting names is not there, or is not usable.
    case file(setting: String, path: String, problem: String, remedy: String)
    case several([SettingsError])

    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "cannot read the configuration file \(path): \(reason); --config or \(SettingsInput.fileVariable) names it"
        case .malformed(let origin, let reason): "\(origin): \(reason)"
        case .unknownKey(let key, let origin, let nearest):
            "\(origin): unknown key '\(key)'"
                + (nearest.map { "; did you mean '\($0)'?" } ?? "; config/lamplighter.yaml lists every key")
        case .invalid(let key, let origin, let found, let expected):
            Self.named(key, origin) + " must be \(expected)"
                + (found.map { ", not '\($0)'" } ?? "")
        case .missing(let key, let remedy): "\(key) is not set: \(remedy)"
        case .conflict(let key, let origin, let reason): "\(Self.named(key, origin)): \(reason)"
        case .unusable(let key, let reason): "\(key): \(reason)"
        case .file(let setting, let path, let problem, let remedy): "\(setting): \(path) \(problem); \(remedy)"
        case .several(let errors): errors.map(\.description).joined(separator: "\n")
        }
    }

    /// A setting that is only a variable is not named twice.
    private static func named(_ key: String, _ origin: SettingOrigin) -> String {
        key == origin.description ? key : "\(key) (\(origin))"
    }

    /// One error for many. Nil if there is none.
    static func joined(_ errors: [SettingsError]) -> SettingsError? {
        errors.count < 2 ? errors.first : .several(errors)
    }
}
