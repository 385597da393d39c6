import LiveActivity

/// The text of a PEM file in a variable. Tools that set variables change it: they write `\n` for a line break, put all
/// into one line, indent it, put it into quotes, or take it in base64 only.
enum PEMText {
    /// The bytes of the file that the text stands for. A text without a block stays, and a later check names its form.
    static func file(_ text: String) -> [UInt8] {
        var text = text.trimmed
        if SettingsInput.isQuoted(text) { text = String(text.dropFirst().dropLast()) }
        if !text.contains(begin) {
            let body = text.filter { !$0.isWhitespace }
            guard let decoded = Base64.decode(body) ?? Base64.decodeURL(body),
                let inner = String(validating: TextForm.unmarked(decoded), as: UTF8.self), inner.contains(begin)
            else { return Array(text.utf8) }
            text = inner
        }
        text = text.replacing("\\r\\n", with: "\n").replacing("\\n", with: "\n")
        let blocks = blocks(text)
        return Array((blocks.isEmpty ? text : blocks.joined()).utf8)
    }

    private static let begin = "-----BEGIN "

    /// Each block with its lines as they should be. Empty: the text has none that can be laid out.
    private static func blocks(_ text: String) -> [String] {
        var blocks: [String] = []
        var rest = text[...]
        while let start = rest.firstRange(of: begin) {
            rest = rest[start.upperBound...]
            guard let dashes = rest.firstRange(of: "-----") else { return [] }
            let label = rest[..<dashes.lowerBound]
            guard let end = rest.firstRange(of: "-----END \(label)-----") else { return [] }
            let body = rest[dashes.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
            // An encrypted key of the old form has headers, which need their lines.
            guard !body.contains(":") else { return [] }
            var lines = ["-----BEGIN \(label)-----"]
            var left = body[...]
            while !left.isEmpty {
                lines.append(String(left.prefix(64)))
                left = left.dropFirst(64)
            }
            blocks.append((lines + ["-----END \(label)-----", ""]).joined(separator: "\n"))
            rest = rest[end.upperBound...]
        }
        return blocks
    }
}
