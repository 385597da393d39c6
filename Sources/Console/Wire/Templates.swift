import LiveActivity

/// The templates of the pages. All text that they show is escaped, also where it stands in an attribute.
struct Templates: Sendable {
    /// Read once: in a debug build it takes 60 ms, and tests start hundreds of gateways.
    static let all = Templates()

    private let templates: [String: PageTemplate]

    private init() {
        var templates: [String: PageTemplate] = [:]
        for (name, bytes) in Self.files {
            // A test renders every template, so a wrong one does not get this far.
            do { templates[name] = try PageTemplate(bytes) } catch { preconditionFailure("template \(name): \(error)") }
        }
        self.templates = templates
    }

    func render(_ name: String, _ values: [String: Any]) -> String {
        guard let template = templates[name] else { preconditionFailure("no template \(name)") }
        return template.render(values) { templates[$0] }
    }

    static var names: [String] { files.map(\.0) }

    private static let ending = ".mustache"
    private static let files = PackageResources.files.filter { $0.name.hasSuffix(ending) }
        .map { (String($0.name.dropLast(ending.count)), $0.bytes) }
}

/// Text of others as it may stand in an element or an attribute.
enum HTMLText {
    /// Escapes a text that a reader sees. Hidden characters get marks (`⟨U+200B⟩`), and blanks at its ends `␠`.
    static func mark(_ text: String, into output: inout [UInt8]) {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") }
        let head = text.utf8.prefix(while: isBlank).count
        let inner = text.utf8.dropFirst(head)
        let tail = inner.reversed().prefix(while: isBlank).count
        for _ in 0..<head { output += "␠".utf8 }
        markHidden(String(decoding: inner.dropLast(tail), as: UTF8.self), into: &output)
        for _ in 0..<tail { output += "␠".utf8 }
    }

    private static func markHidden(_ text: String, into output: inout [UInt8]) {
        guard text.unicodeScalars.contains(where: isMarked) else { return escape(text, into: &output) }
        for scalar in text.unicodeScalars {
            let code = String(scalar.value, radix: 16, uppercase: true)
            escape(isMarked(scalar) ? "⟨U+\(code)⟩" : String(scalar), into: &output)
        }
    }

    private static func isMarked(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x7F && scalar.isHidden }

    static func escape(_ text: String, into output: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): output += "&lt;".utf8
            case UInt8(ascii: ">"): output += "&gt;".utf8
            case UInt8(ascii: "&"): output += "&amp;".utf8
            case UInt8(ascii: "\""): output += "&quot;".utf8
            case UInt8(ascii: "'"): output += "&#39;".utf8
            case UInt8(ascii: "`"): output += "&#96;".utf8
            default: output.append(byte)
            }
        }
    }
}
