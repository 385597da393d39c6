import FoundationEssentials
import Glibc
import LiveActivity

/// The sources of the settings, the strongest first: flags, environment, file, and the table's defaults.
public struct SettingsInput: Sendable {
    /// Values by `SettingKey.path`.
    public var flags: [String: String]
    /// Values without white space at their ends.
    public var environment: [String: String]
    public var file: (path: String, text: String)?
    public static let defaultFile = "config/lamplighter.yaml"
    /// Read if the default file does not exist. The Debian package installs it.
    public static let systemFile = "/etc/lamplighter/lamplighter.yaml"
    /// The variable that names the file, like `--config`.
    public static let fileVariable = "LAMPLIGHTER_CONFIG"

    public init(
        flags: [String: String] = [:], environment: [String: String] = [:], file: (path: String, text: String)? = nil
    ) {
        self.flags = flags
        // A variable that is made from a file ends with the newline of the file.
        self.environment = environment.mapValues(\.trimmed)
        self.file = file
    }

    /// Reads the file. A file that was named must exist.
    /// - Parameter usual: the usual files. The first that exists is read if neither the caller nor the environment
    ///   names a file.
    public init(
        flags: [String: String], environment: [String: String], config: String?,
        usual: [String] = [SettingsInput.defaultFile, SettingsInput.systemFile]
    ) throws(SettingsError) {
        self.init(flags: flags, environment: environment)
        let asked = config ?? self.environment[Self.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        let candidates = asked.map { [$0] } ?? usual
        var isDirectory = false
        if asked == SecretFile.standardInput {
            // The name has no folder, so that other files are found from the working directory.
            file = try Self.text("standard input", try StandardInput.bytes(for: "--config"))
            return
        }
        let existing = candidates.first { FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory) }
        guard let path = existing else {
            guard let asked else { return }
            throw .unreadable(path: asked, reason: "no such file")
        }
        if isDirectory { throw .unreadable(path: path, reason: "it is a directory") }
        guard let data = Self.contents(path) else {
            let remedy = path == Self.systemFile ? "; run this as root or as the user lamplighter" : ""
            throw .unreadable(path: path, reason: "permission denied\(remedy)")
        }
        file = try Self.text(path, data)
    }

    private static func text(_ path: String, _ data: [UInt8]) throws(SettingsError) -> (path: String, text: String) {
        if let form = TextForm.foreign(data) {
            throw .malformed(.file(path, line: nil), reason: "not UTF-8 text: \(form)")
        }
        guard let text = String(validating: TextForm.unmarked(data), as: UTF8.self) else {
            throw .malformed(.file(path, line: nil), reason: "not UTF-8 text")
        }
        return (path, text)
    }

    /// Whether a value begins and ends with the same quote, as in a file of variables that no shell has read.
    public static func isQuoted(_ text: String) -> Bool {
        guard text.utf8.count >= 2, let quote = text.utf8.first, text.utf8.last == quote else { return false }
        return quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    }

    /// Reads a file or a pipe to its end: at most 16 MiB, which no configuration has.
    static func contents(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= 16 << 20 {
            let count = fread(&part, 1, part.count, file)
            bytes += part[..<count]
            if count < part.count { return ferror(file) == 0 ? bytes : nil }
        }
        return nil
    }
}
