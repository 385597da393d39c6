/// Rows of text in columns that fit a width. Columns that matter less are left out first. Then the first is cut.
struct FittedTable {
    struct Column {
        var title: String
        var isRight = true
        /// 0 stays. The greatest other number goes first.
        var rank = 0
    }

    var columns: [Column]
    var rows: [[String]] = []
    private static let gap = 2
    /// The first column is not cut below this width.
    private static let least = 8

    func lines(width: Int) -> [String] {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { column in all.map { $0[column].displayWidth }.max() ?? 0 }
        var shown = Array(columns.indices)
        func total() -> Int { shown.reduce(0) { $0 + widths[$1] } + Self.gap * (shown.count - 1) }
        while total() > width,
            let last = shown.filter({ columns[$0].rank > 0 }).max(by: { columns[$0].rank < columns[$1].rank })
        {
            shown.removeAll { $0 == last }
        }
        let first = min(widths[0], max(Self.least, widths[0] - max(0, total() - width)))
        return all.map { row in
            shown.map { column in
                let cell = column == 0 ? row[0].cut(to: first) : row[column]
                return cell.padded(to: column == 0 ? first : widths[column], isRight: columns[column].isRight)
            }
            .joined(separator: String(repeating: " ", count: Self.gap))
        }
    }
}
