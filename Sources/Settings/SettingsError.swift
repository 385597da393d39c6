/// Where a value was said.
public enum SettingOrigin: Sendable, Hashable, CustomStringConvertible {
    case flag(String)
    case environment(String)
    /// Line from 1, if known.
    case file(String, line: Int?)
    case builtIn

    public var description: String {
        switch self {
        case .flag(let name): "--\(name)"
        case .environment(let name): name
        case .file(let path, let line): line.map { "\(path):\($0)" } ?? path
        case .builtIn: "default"
        }
    }

    /// A relative path in the file is relative to the file, so that it means the same from every working directory.
    func resolved(_ path: String) -> String {
        guard case .file(let file, _) = self, !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else {
            return path
        }
        return file[...slash] + path
    }
}

/// What is wrong with the configuration: which key, where, and what would be right. Never holds a secret's value.
public enum SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file that was asked for is not there or cannot be read.
    case unreadable(path: String, reason: String)
    /// Not YAML, or not the shape of a settings file.
    case malformed(SettingOrigin, reason: String)
    case unknownKey(String, SettingOrigin, nearest: String?)
    /// `found` is nil for secrets.
    case invalid(key: String, SettingOrigin, found: String?, expected: String)
    case missing(key: String, remedy: String)
    case conflict(key: String, SettingOrigin, reason: String)
    case several([SettingsError])

    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "cannot read the configuration file \(path): \(reason)"
        case .malformed(let origin, let reason):
            "\(origin): \(reason)"
        case .unknownKey(let key, let origin, let nearest):
            "\(origin): unknown key '\(key)'" + (nearest.map { "; did you mean '\($0)'?" } ?? "")
        case .invalid(let key, let origin, let found, let expected):
            "\(key) (\(origin)) must be \(expected)" + (found.map { ", not '\($0)'" } ?? "")
        case .missing(let key, let remedy):
            "\(key) is not set: \(remedy)"
        case .conflict(let key, let origin, let reason):
            "\(key) (\(origin)): \(reason)"
        case .several(let errors):
            errors.map(\.description).joined(separator: "\n")
        }
    }

    /// One error for none, one or many.
    static func joined(_ errors: [SettingsError]) -> SettingsError? {
        errors.count < 2 ? errors.first : .several(errors)
    }
}
