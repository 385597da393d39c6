import LiveActivity

/// Rows of text in columns. Each column has its alignment.
struct Table {
    enum Alignment { case left, right }

    var alignments: [Alignment]
    var rows: [[String]] = []
    init(_ alignments: Alignment...) { self.alignments = alignments }

    /// A table of a value's fields, one a row. Fields without a value have no row.
    init(fields: KeyValuePairs<String, String?>, values: Alignment = .left) {
        self.init(.left, values)
        for case (let name, let value?) in fields { add(name, value) }
    }

    /// A column of a list, such as `.text("NAME", \.name)`, or `.count("TOKENS", \.tokens)` for numbers.
    struct Column<Entry> {
        var title: String
        var alignment: Alignment
        var cell: (Entry) -> String

        static func text(_ title: String, _ cell: @escaping (Entry) -> String) -> Column {
            Column(title: title, alignment: .left, cell: cell)
        }
        static func right(_ title: String, _ cell: @escaping (Entry) -> String) -> Column {
            Column(title: title, alignment: .right, cell: cell)
        }
        static func count(_ title: String, _ count: @escaping (Entry) -> Int) -> Column {
            .right(title) { Terminal.grouped(count($0)) }
        }
    }

    /// The lines of a list: a heading, if columns have titles, a row for each entry, and what it does not show.
    /// - Parameters:
    ///   - nothing: the only line of an empty list
    ///   - total: how many entries there are, in words such as `names in all`
    ///   - next: the position for `--after` at which the list goes on
    ///   - columns: nil leaves one out
    static func list<Entry>(
        _ entries: [Entry], nothing: String? = nil, total: Int? = nil, words: String = "in all", next: String? = nil,
        _ columns: Column<Entry>?...
    ) -> [String] {
        if entries.isEmpty, let nothing { return [nothing] }
        let columns = columns.compactMap(\.self)
        var table = Table()
        table.alignments = columns.map(\.alignment)
        if !entries.isEmpty, columns.contains(where: { !$0.title.isEmpty }) { table.rows.append(columns.map(\.title)) }
        table.rows += entries.map { entry in columns.map { $0.cell(entry).visible } }
        let hidden = total.flatMap { $0 > entries.count ? "\(Terminal.grouped($0)) \(words)" : nil }
        return table.lines + [hidden, next.map { "more: --after \($0)" }].compactMap(\.self)
    }

    mutating func add(_ cells: String...) { rows.append(cells.map(\.visible)) }

    var lines: [String] {
        let widths = alignments.indices.map { column in
            rows.map { column < $0.count ? $0[column].displayWidth : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let isRight = alignments[column] == .right
                return !isRight && column == row.count - 1 ? cell : cell.padded(to: widths[column], isRight: isRight)
            }
            return cells.joined(separator: "  ")
        }
    }

    func print() { lines.forEach(Terminal.print) }
}
