import LiveActivity
import StrictJSON

/// A whole list as a file: NDJSON has the entries as the API answers them, CSV their members in columns.
enum Export {
    static let most = 10_000

    /// The file, if the address asks for one.
    /// - Parameters:
    ///   - member: the array of the API's answer
    ///   - limit: the most entries that the API answers at once
    ///   - isWanted: for filters that the API does not have
    static func file(
        _ visit: Visit, _ path: String, _ member: String, _ fields: KeyValuePairs<String, String?> = [:],
        limit: Int = 1_000, where isWanted: (JSONObject) -> Bool = { _ in true }
    ) async throws -> ConsoleResponse? {
        let form = visit.query["as"]
        guard form == "csv" || form == "ndjson" else { return nil }
        var rows: [JSONObject] = []
        var position: String?
        repeat {
            let rest = Form.query(fields).dropFirst()
            let query = [position ?? "limit=\(limit)", String(rest)].filter { !$0.isEmpty }.joined(separator: "&")
            let page = try JSONDocument(try await visit.call("GET", path, query: query)).root.object()
            rows += page.list(member).compactMap { try? $0.object() }.filter(isWanted)
            // Some lists answer a whole address, which keeps the limit.
            let address = page.text("next_page")?.split(separator: "?").last.map { Form($0)["start"] }
            position =
                page.text("next").map { "limit=\(limit)&after=\(Form.encoded($0))" }
                ?? address.map { "limit=\(limit)&start=\(Form.encoded($0))" }
        } while position != nil && rows.count < most
        rows = Array(rows.prefix(most))
        let name = "\(visit.app)-\(path.split(separator: "/").last ?? "list")"
        return form == "csv"
            ? .file(Array(csv(rows).utf8), "text/csv; charset=utf-8", "\(name).csv")
            : .file(ndjson(rows), "application/x-ndjson", "\(name).ndjson")
    }

    private static func ndjson(_ rows: [JSONObject]) -> [UInt8] {
        rows.flatMap { JSON($0.value).bytes + [UInt8(ascii: "\n")] }
    }

    static func csv(_ rows: [JSONObject]) -> String {
        var columns: [String] = []
        var known: Set<ExactText> = []
        for key in rows.flatMap({ $0.members.map(\.key) }) where known.insert(ExactText(key)).inserted {
            columns.append(key)
        }
        let lines = [columns.map(cell)] + rows.map { row in columns.map { row[$0].map(cell) ?? "" } }
        return lines.map { $0.joined(separator: ",") + "\r\n" }.joined()
    }

    private static func cell(_ value: JSONValue) -> String {
        switch value.kind {
        case .null: ""
        case .string: cell((try? value.string()) ?? "")
        case .number, .bool: value.text
        case .array, .object: quoted(value.text)
        }
    }

    /// Names come from devices. A spreadsheet would run one that begins so as a formula.
    private static func cell(_ text: String) -> String {
        quoted(text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } == true ? "'" + text : text)
    }

    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { "\",\r\n".utf8.contains($0) }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }

    /// The addresses of the files of a page.
    static func links(_ visit: Visit, keeping names: [String]) -> Values {
        func link(_ form: String) -> String {
            let kept = names.compactMap { name in
                visit.query.text(name).map { "\(name)=\(Form.encoded($0))" }
            }
            return visit.request.path + "?" + (kept + ["as=\(form)"]).joined(separator: "&")
        }
        return ["csv": link("csv"), "ndjson": link("ndjson")]
    }
}

/// The days of a filter, both included, in UTC. A link may have times in their place; the one of the end is left out.
struct DayRange {
    /// As the API takes them. Nil: no limit.
    let from: String?
    let to: String?
    /// Whether the fields of a page can show them: a browser leaves a field of a day empty for anything else.
    let isOfDays: Bool

    init(_ query: Form) {
        let (first, last) = (query.text("from"), query.text("to"))
        from = first.flatMap { Self.day($0) ?? TimeText.parse($0) }.map { TimeText.plainText($0) }
        to = last.flatMap { text in Self.day(text).map { $0 + 86_400_000 } ?? TimeText.parse(text) }
            .map { TimeText.plainText($0) }
        isOfDays = [first, last].allSatisfy { $0.flatMap(Self.day) != nil || $0 == nil }
    }

    private static func day(_ text: String) -> Int64? {
        text.utf8.count == 10 ? TimeText.parse("\(text)T00:00:00") : nil
    }

    /// `from 2026-11-21 18:00:00 UTC to 2026-11-21 18:01:10 UTC`
    var words: String {
        let ends = [("from", from), ("to", to)].compactMap { word, time in time.map { "\(word) \($0)Z" } }
        return Shown.plain(ends.joined(separator: " "))
    }

    func contains(_ time: String) -> Bool {
        guard let time = TimeText.parse(time) else { return false }
        return (from.flatMap { TimeText.parse($0) } ?? .min) <= time
            && time < (to.flatMap { TimeText.parse($0) } ?? .max)
    }
}
