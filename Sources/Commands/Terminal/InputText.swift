import ArgumentParser
import FoundationEssentials
import LiveActivity

/// The text of an option: as written, from `@file`, or from stdin (`-`).
enum InputText {
    /// The text of a file, or from stdin (`-`).
    static func file(_ path: String, _ argument: String) throws -> String {
        try read(path == "-" ? path : "@" + path, argument)
    }

    static func read(_ text: String, _ option: String) throws -> String {
        let bytes: [UInt8]?
        if text == "-" {
            bytes = try InputFile.standardInput.readToEnd()
        } else if text.hasPrefix("@") {
            bytes = FileManager.default.contents(atPath: String(text.dropFirst())).map([UInt8].init)
        } else {
            return text
        }
        guard let bytes else { throw ValidationError("\(option): cannot read \(text.dropFirst())") }
        if let form = TextForm.foreign(bytes) { throw ValidationError("\(option): \(form)") }
        if let content = String(validating: TextForm.unmarked(bytes), as: UTF8.self) { return content }
        throw ValidationError("\(option): not UTF-8 text")
    }
}
