import StrictJSON

/// Finds Airship's templates (`{{first_name}}`). Lamplighter fills in none, so a device would show the braces.
enum TemplateCheck {
    /// Refuses `{{` if the request asks for templates to be filled in. Otherwise only warns: an app may mean braces.
    static func check(_ activity: JSONObject, areTemplates: Bool, warnings: inout [String]) throws(JSONError) {
        for key in ["alert", "content_state", "attributes"] {
            guard let value = activity[key], contains(value.raw) else { continue }
            guard !areTemplates else {
                throw value.error("holds `{{`: Lamplighter fills in no templates. Send the finished text")
            }
            warnings.append("\(value.path) holds `{{`, which devices show as it is: Lamplighter fills in no templates")
        }
    }

    /// Whether the text holds two opening braces in a row, as themselves or as `\u007b`. JSON has none outside strings.
    static func contains(_ text: ArraySlice<UInt8>) -> Bool {
        var isOpen = false
        var rest = text
        while let byte = rest.first {
            let isEscape = byte == UInt8(ascii: "\\") && escapes.contains { rest.starts(with: $0) }
            let length = byte == UInt8(ascii: "{") ? 1 : isEscape ? 6 : 0
            if length > 0, isOpen { return true }
            isOpen = length > 0
            // Skip the whole escape. Otherwise the second backslash of `\\` would seem to begin another one.
            rest = rest.dropFirst(length > 0 ? length : byte == UInt8(ascii: "\\") ? 2 : 1)
        }
        return false
    }

    private static let escapes = [Array(#"\u007b"#.utf8), Array(#"\u007B"#.utf8)]
}
