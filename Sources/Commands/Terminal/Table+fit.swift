import LiveActivity

/// The width of a table. A line that is wider than the terminal breaks in the middle of a word, also in the heading.
extension Table {
    private static let gap = 2
    /// A column of text is not cut below this width.
    private static let least = 8
    /// A text is cut to this width rather than that a whole column is left out.
    private static let preferred = 24

    /// The table in a width. Times become shorter first. Then columns are left out, and texts are cut.
    /// - Parameters:
    ///   - width: nil: as wide as the table is
    ///   - year: times of this year are shown without it
    /// - Returns: also the titles of columns with values that are left out
    func fitted(to width: Int?, year: String = Self.thisYear) -> (lines: [String], hidden: [String]) {
        var table = self
        guard let width, table.width() > width else { return (table.padded(table.widths), []) }
        // A column without a value says nothing.
        table.remove { column in rows.allSatisfy { $0[column].isEmpty } }
        let whole = table.rows
        for step in ShortTime.allCases where table.width() > width {
            for column in table.columns.indices where table.columns[column].kind == .time {
                for row in rows.indices { table.rows[row][column] = step.text(whole[row][column], year: year) }
            }
        }
        var hidden: [String] = []
        while table.width(texts: Self.preferred) > width,
            let last = table.columns.map(\.rank).max(), last > 0,
            let index = table.columns.lastIndex(where: { $0.rank == last })
        {
            hidden.insert(table.columns[index].title, at: 0)
            table.remove { $0 == index }
        }
        return (table.cut(to: width), hidden)
    }

    private static var thisYear: String { String(TimeText.text(wallClock()).prefix(4)) }

    private var widths: [Int] {
        columns.indices.map { column in
            ([columns[column].title] + rows.map { column < $0.count ? $0[column] : "" }).map(\.displayWidth).max() ?? 0
        }
    }

    /// - Parameter most: the greatest width of a text that counts
    private func width(texts most: Int = .max) -> Int {
        let widths = zip(columns, widths).map { $0.kind == .text ? min($1, most) : $1 }
        return widths.reduce(0, +) + Self.gap * (columns.count - 1)
    }

    private mutating func remove(where isLeftOut: (Int) -> Bool) {
        let kept = columns.indices.filter { !isLeftOut($0) }
        columns = kept.map { columns[$0] }
        rows = rows.map { row in kept.filter { $0 < row.count }.map { row[$0] } }
    }

    /// Cuts the widest texts, and whole lines where that is not enough.
    private func cut(to width: Int) -> [String] {
        var widths = widths
        var excess = self.width() - width
        while excess > 0 {
            let texts = columns.indices.filter { columns[$0].kind == .text && widths[$0] > Self.least }
            guard let widest = texts.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
        return padded(widths).map { $0.cut(to: width) }
    }

    private func padded(_ widths: [Int]) -> [String] {
        let hasTitles = !rows.isEmpty && columns.contains { !$0.title.isEmpty }
        return ((hasTitles ? [columns.map(\.title)] : []) + rows).map { row in
            let cells = row.enumerated().map { column, cell in
                let cell = cell.cut(to: widths[column])
                let isLast = column == row.count - 1 && !columns[column].isRight
                return isLast ? cell : cell.padded(to: widths[column], isRight: columns[column].isRight)
            }
            return cells.joined(separator: String(repeating: " ", count: Self.gap))
        }
    }
}

/// A time of an answer (UTC) in fewer columns.
private enum ShortTime: CaseIterable {
    case seconds, minutes

    /// - Returns: `11-21 18:00:07`, and of another year `2025-11-21`; other texts as they are
    func text(_ text: String, year: String) -> String {
        guard TimeText.parse(text) != nil, text.utf8.count >= 19 else { return text }
        guard text.hasPrefix(year) else { return String(text.prefix(10)) }
        let end = self == .seconds ? 19 : 16
        return "\(text.prefix(10).dropFirst(5)) \(text.prefix(end).dropFirst(11))"
    }
}
