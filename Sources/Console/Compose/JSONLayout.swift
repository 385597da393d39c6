import StrictJSON

/// JSON with line ends, for people. Values stay as they were written.
enum JSONLayout {
    static func lines(_ value: JSONValue, indent: String = "") -> String {
        let inner = indent + "  "
        switch value.kind {
        case .object:
            guard let members = try? value.object().members, !members.isEmpty else { return "{}" }
            let lines = members.map { "\(inner)\(JSON.string($0.key).text): \(self.lines($0.value, indent: inner))" }
            return "{\n\(lines.joined(separator: ",\n"))\n\(indent)}"
        case .array:
            guard let values = try? value.array(), !values.isEmpty else { return "[]" }
            return "[\n\(values.map { inner + lines($0, indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
        default: return value.text
        }
    }
}
