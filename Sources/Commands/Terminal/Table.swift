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

    mutating func add(_ cells: String...) { rows.append(cells) }

    var lines: [String] {
        let widths = alignments.indices.map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
                let isLast = column == row.count - 1
                line += alignments[column] == .right ? padding + cell : cell + (isLast ? "" : padding)
                if !isLast { line += "  " }
            }
            return line
        }
    }

    func print() { lines.forEach(Terminal.print) }
}
