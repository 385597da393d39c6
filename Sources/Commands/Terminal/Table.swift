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

    mutating func add(_ cells: String...) { rows.append(cells.map(\.visible)) }

    var lines: [String] {
        let widths = alignments.indices.map { column in
            rows.map { column < $0.count ? $0[column].displayWidth : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell -> String in
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.displayWidth))
                if alignments[column] == .right { return padding + cell }
                return column == row.count - 1 ? cell : cell + padding
            }
            return cells.joined(separator: "  ")
        }
    }

    func print() { lines.forEach(Terminal.print) }
}
