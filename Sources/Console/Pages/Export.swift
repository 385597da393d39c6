import Answers
import LiveActivity
import StrictJSON

/// A whole list as a file: NDJSON has the entries as the API answers them, CSV their members in columns.
///
/// The file is read page by page, as fast as its reader takes it, so a gateway has one page of it in memory. If it ends
/// before the list does, its last line says so.
actor Export {
    static let most = 10_000
    static let mostBytes = 64 << 20

    enum Kind: String { case csv, ndjson }

    struct Page {
        var rows: [JSONObject]
        /// Where the next page begins. Nil: this is the last one.
        var next: String?
    }

    private let kind: Kind
    private let columns: [String]
    private let end: ContinuousClock.Instant
    private let read: @Sendable (_ position: String) async throws -> Page
    /// The page of the list that is written next. Nil: it has to be read.
    private var page: Page?
    private var next: String?
    private var hasBegun = false
    private var isOver = false
    private var (rows, bytes) = (0, 0)

    /// - Parameters:
    ///   - columns: of a CSV file; `options.catch_up` is a member of a member
    ///   - first: is read before the answer begins, so that a refusal is a page
    init(
        _ kind: Kind, _ columns: [String], first: Page, patience: Duration = Bulk.patience,
        read: @escaping @Sendable (_ position: String) async throws -> Page
    ) {
        (self.kind, self.columns, self.read) = (kind, columns, read)
        (page, next) = (first, first.next)
        end = .now + patience
    }

    /// The next bytes, which may be none: a filter may pick nothing of a page. Nil: the file is complete.
    func piece() async -> [UInt8]? {
        guard !isOver else { return nil }
        var piece: [UInt8] = []
        if !hasBegun, kind == .csv { piece += Self.line(CSVCell.line(of: columns)) }
        hasBegun = true
        guard let page = await takePage() else { return piece + rest("The gateway could not read on.") }
        for row in page.rows {
            guard rows < Self.most else { return piece + rest("A file has \(Self.most) entries at most.") }
            let line =
                kind == .csv ? Self.line(CSVCell.line(of: row, columns)) : JSON(row.value).bytes + [UInt8(ascii: "\n")]
            bytes += line.count
            guard bytes <= Self.mostBytes else { return piece + rest("A file has \(Self.mostBytes >> 20) MB at most.") }
            piece += line
            rows += 1
        }
        guard next != nil else {
            isOver = true
            return piece
        }
        if rows >= Self.most { return piece + rest("A file has \(Self.most) entries at most.") }
        if .now >= end { return piece + rest("It took too long.") }
        return piece
    }

    private func takePage() async -> Page? {
        if let page {
            self.page = nil
            return page
        }
        guard let next, let page = try? await read(next) else { return nil }
        self.next = page.next
        return page
    }

    /// The last line of a file that ends before the list does.
    private func rest(_ why: String) -> [UInt8] {
        isOver = true
        let text = "This file is not complete. \(why) Filter the list, or read it by the API."
        return kind == .csv
            ? Self.line(CSVCell.line(of: [text]))
            : JSON.fields(["incomplete": .string(text)]).bytes + [UInt8(ascii: "\n")]
    }

    private static func line(_ text: String) -> [UInt8] { Array((text + "\r\n").utf8) }
}

extension Export {
    /// The file, if the address asks for one.
    /// - Parameters:
    ///   - member: the array of the API's answer
    ///   - limit: the most entries of one page
    ///   - isWanted: for filters that the API does not have
    static func file(
        _ visit: Visit, _ path: String, _ member: String, columns: [String],
        _ fields: KeyValuePairs<String, String?> = [:], limit: Int = 1_000,
        where isWanted: @escaping @Sendable (JSONObject) -> Bool = { _ in true }
    ) async throws -> ConsoleResponse? {
        guard let kind = Kind(rawValue: visit.query["as"]) else { return nil }
        let filter = String(Form.query(fields).dropFirst())
        let read: @Sendable (String) async throws -> Page = { position in
            let query = [position, filter].filter { !$0.isEmpty }.joined(separator: "&")
            let answer = try await visit.call("GET", path, query: query).body
            // A body of a request may be in it, which may be as deep as a document.
            let depth = 2 * JSONDocument.defaultMaximumDepth
            let page = try JSONDocument(answer, maximumDepth: depth).root.object()
            // Some lists answer a whole address.
            let address = page.text("next_page")?.split(separator: "?").last.map { Form($0)["start"] }
            let next =
                page.text("next").map { "limit=\(limit)&after=\(Form.encoded($0))" }
                ?? address.map { "limit=\(limit)&start=\(Form.encoded($0))" }
            return Page(
                rows: page.list(member).compactMap { try? $0.object() }.filter(isWanted), next: next)
        }
        let export = Export(kind, columns, first: try await read("limit=\(limit)"), read: read)
        let name = "\(visit.app)-\(path.split(separator: "/").last ?? "list").\(kind)"
        return .file(kind == .csv ? "text/csv; charset=utf-8" : "application/x-ndjson", name) { await export.piece() }
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

/// The days of a filter, both included: of the zone in the address, or in UTC. A link may have times in place of days.
/// The end is then left out of the range.
struct DayRange {
    /// The first time and the last, in the API's form. Nil: no limit.
    let from: String?
    let to: String?
    /// Whether the fields of a page can show them: a browser leaves a field of a day empty for anything else.
    let isOfDays: Bool
    private let first, last, zone: String
    private let zoneName: String

    init(_ query: Form) {
        let (first, last) = (query.text("from"), query.text("to"))
        (self.first, self.last, zone) = (first ?? "", last ?? "", query.text("zone") ?? "")
        // Minutes from local time to UTC at both ends, as a browser counts: the clocks may change in between.
        let read = zone.split(separator: ",").map { Int64($0).flatMap { abs($0) <= 900 ? $0 : nil } }
        let zones = (1...2).contains(read.count) ? read.compactMap(\.self) : []
        let (before, after) = (60_000 * (zones.first ?? 0), 60_000 * (zones.last ?? 0))
        from = first.flatMap { Self.day($0).map { $0 + before } ?? TimeText.parse($0) }.map { TimeText.plainText($0) }
        to = last.flatMap { text in Self.day(text).map { $0 + 86_400_000 + after } ?? TimeText.parse(text) }
            .map { TimeText.plainText($0) }
        zoneName = zones.first.map(Self.zoneName) ?? "UTC"
        isOfDays = [first, last].allSatisfy { $0.flatMap(Self.day) != nil || $0 == nil }
    }

    /// For the fields of a page.
    var shown: Values { ["from": first, "to": last, "zone": zone, "zoneName": zoneName] }

    /// `UTC+1`, `UTC-3:30`
    private static func zoneName(_ minutes: Int64) -> String {
        let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
        let text = "\(hours)" + (rest == 0 ? "" : rest < 10 ? ":0\(rest)" : ":\(rest)")
        return minutes == 0 ? "UTC" : "UTC\(minutes < 0 ? "+" : "-")\(text)"
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
