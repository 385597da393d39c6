import StrictJSON

/// Airship's templates (`{{first_name}}`) in what a device shows. Lamplighter fills in none, so they would be shown as they are.
enum Braces {
    /// `areTemplates`: the request asks for templates to be filled in; then braces are a 400. Otherwise a warning: an app may
    /// mean them as they are.
    static func check(
        _ activity: JSONObject, areTemplates: Bool, warnings: inout [String]
    ) throws(JSONError) {
        for key in ["alert", "content_state", "attributes"] {
            guard let value = activity[key], contains(value.raw) else { continue }
            guard !areTemplates else {
                throw value.error("holds `{{`: Lamplighter fills in no templates. Send the finished text")
            }
            warnings.append("\(value.path) holds `{{`, which devices show as it is: Lamplighter fills in no templates")
        }
    }

    /// Two opening braces in a row, each written as it is or as `\u007b`. Outside of strings JSON has none.
    static func contains(_ text: ArraySlice<UInt8>) -> Bool {
        var isOpen = false
        var rest = text
        while let byte = rest.first {
            let length = byte == UInt8(ascii: "{") ? 1 : escapeLength(rest)
            if length > 0, isOpen { return true }
            isOpen = length > 0
            // An escape is passed as a whole, so that the second backslash of `\\` begins none.
            rest = rest.dropFirst(length > 0 ? length : byte == UInt8(ascii: "\\") ? 2 : 1)
        }
        return false
    }

    /// 6 if the text begins with `\u007b`, in either case of its last letter; else 0.
    private static func escapeLength(_ text: ArraySlice<UInt8>) -> Int {
        let start = Array(text.prefix(6))
        guard start.count == 6, start.dropLast().elementsEqual(#"\u007"#.utf8), start[5] | 0x20 == UInt8(ascii: "b")
        else { return 0 }
        return 6
    }
}
