import LiveActivity

/// The runbook of an alarm: its part of `docs/runbooks.md`, which the build takes along.
enum Runbook {
    private static let lines = String(decoding: PackageResources.runbooks_md, as: UTF8.self).split(separator: "\n")

    /// The steps, each with a title and its text as markup. Empty: the document has no such part.
    /// - Parameters:
    ///   - heading: of the part
    ///   - alarm: the word of the alarm, for the table of the alarms that have no part of their own
    static func steps(_ heading: String, alarm: String) -> [(title: String, markup: String)] {
        if let row = lines.first(where: { $0.hasPrefix("| alarm `\(alarm)") }) {
            let cells = row.split(separator: "|").map { String($0).trimmed }
            return zip(["Cause", "Do"], cells.dropFirst()).map { ($0, markup($1)) }
        }
        let part = lines.drop { $0 != "### \(heading)" }.dropFirst().prefix { !$0.hasPrefix("#") }
        var steps: [(title: String, text: String)] = []
        for line in part {
            if let step = line.firstMatch(of: /^- \*\*(.+?)\*\*:/) {
                steps.append((String(step.1), String(line[step.range.upperBound...]).trimmed))
            } else if !steps.isEmpty {
                steps[steps.count - 1].text += " " + String(line).trimmed
            }
        }
        return steps.map { ($0.title, markup($0.text)) }
    }

    /// Code is marked. A link is its text alone: the console has no other page of the documents.
    private static func markup(_ text: String) -> String {
        var (output, rest) = ([UInt8](), text[...])
        while let match = rest.firstMatch(of: /`([^`]*)`|\[([^\]]*)\]\([^)]*\)/) {
            HTMLText.escape(String(rest[..<match.range.lowerBound]), into: &output)
            if let code = match.1 {
                output += "<code>".utf8
                HTMLText.escape(String(code), into: &output)
                output += "</code>".utf8
            } else if let link = match.2 {
                output += markup(String(link)).utf8
            }
            rest = rest[match.range.upperBound...]
        }
        HTMLText.escape(String(rest), into: &output)
        return String(decoding: output, as: UTF8.self)
    }
}
