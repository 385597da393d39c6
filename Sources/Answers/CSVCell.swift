/// Cells of the CSV files that the console writes and `import` reads. Names come from devices, and a spreadsheet would
/// run some of them as formulas. In some countries it separates cells by `;`, so a cell may begin within a text.
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
