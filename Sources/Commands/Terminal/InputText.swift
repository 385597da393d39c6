import ArgumentParser
import Foundation

/// The text of an option: as written, from `@file`, or from stdin (`-`).
enum InputText {
    static func read(_ text: String, _ option: String) throws -> String {
        let data: Data?
        if text == "-" {
            data = try FileHandle.standardInput.readToEnd() ?? Data()
        } else if text.hasPrefix("@") {
            data = FileManager.default.contents(atPath: String(text.dropFirst()))
        } else {
            return text
        }
        guard let data else { throw ValidationError("\(option): cannot read \(text.dropFirst())") }
        if let content = String(validating: data, as: UTF8.self) { return content }
        throw ValidationError("\(option): not UTF-8 text")
    }
}
