import LiveActivity
public import StrictJSON

/// Cells of the CSV files that the console and commands write, and that `import` reads. Names come from devices, and a
/// spreadsheet would run some of them as formulas. In some countries it separates cells by `;`, so a cell may begin
/// within a text.
public enum CSVCell {
    private static let beginnings = Set("=+-@＝＋－＠'\t\r".unicodeScalars)
    private static let separators = Set(";\t\r\n".unicodeScalars)

    /// The text with an apostrophe before each place where a formula could begin, and before an apostrophe there.
    public static func guarded(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        var isBeginning = true
        for scalar in text.unicodeScalars {
            if isBeginning, beginnings.contains(scalar) { shown.append("'") }
            shown.append(scalar)
            isBeginning = separators.contains(scalar)
        }
        return String(shown)
    }

    /// The text that `guarded` was given.
    public static func unguarded(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "'")) else { return text }
        var plain = String.UnicodeScalarView()
        var (isBeginning, rest) = (true, text.unicodeScalars[...])
        while let scalar = rest.popFirst() {
            let isGuard = isBeginning && scalar == "'" && rest.first.map(beginnings.contains) == true
            let own = isGuard ? rest.removeFirst() : scalar
            plain.append(own)
            isBeginning = separators.contains(own)
        }
        return String(plain)
    }
}

/// Lines of a CSV file, without their ends.
extension CSVCell {
    public static func line(of texts: [String]) -> String { texts.map(cell).joined(separator: ",") }

    /// - Parameter columns: members of the row; `options.catch_up` is a member of a member
    public static func line(of row: JSONObject, _ columns: [String]) -> String {
        columns.map { value(row, $0).map(cell) ?? "" }.joined(separator: ",")
    }

    private static func value(_ row: JSONObject, _ column: String) -> JSONValue? {
        guard let parts = column.cut(at: UInt8(ascii: ".")) else { return row[column] }
        return row.object(parts.head).flatMap { value($0, parts.tail) }
    }

    private static func cell(_ value: JSONValue) -> String {
        switch value.kind {
        case .null: ""
        case .string: cell((try? value.string()) ?? "")
        case .number, .bool: String(decoding: value.raw, as: UTF8.self)
        case .array, .object: cell(String(decoding: value.raw, as: UTF8.self))
        }
    }

    private static func cell(_ text: String) -> String {
        let text = guarded(text)
        guard text.utf8.contains(where: { "\",\r\n".utf8.contains($0) }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }
}
