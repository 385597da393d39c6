import LiveActivity

/// Rows of text in columns.
struct Table {
    struct Column {
        /// How a column gives way in a table that is wider than its terminal.
        enum Kind {
            /// The text may be cut.
            case text
            /// The cell says nothing any more if it is cut, such as an id or a number.
            case whole
            /// The time of an answer, which can be written shorter.
            case time
        }

        var title = ""
        var kind = Kind.text
        var isRight = false
        /// A column of rank 0 stays. The column with the greatest rank is left out first.
        var rank = 0

        static func text(_ title: String = "", rank: Int = 0) -> Column { Column(title: title, rank: rank) }
        static func time(_ title: String, rank: Int = 0) -> Column {
            Column(title: title, kind: .time, rank: rank)
        }
        static func whole(_ title: String, rank: Int = 0) -> Column {
            Column(title: title, kind: .whole, rank: rank)
        }
        static func number(_ title: String = "", rank: Int = 0) -> Column {
            Column(title: title, kind: .whole, isRight: true, rank: rank)
        }
    }

    var columns: [Column]
    var rows: [[String]] = []

    /// A table of a value's fields, one a row. Fields without a value have no row.
    init(fields: KeyValuePairs<String, String?>, numbers: Bool = false) {
        self.init([.text(), numbers ? .number() : .text()])
        for case (let name, let value?) in fields { add(name, value) }
    }

    init(_ columns: [Column]) { self.columns = columns }

    /// A column of a list, such as `.text("NAME", \.name)`, or `.count("TOKENS", \.tokens)` for numbers.
    struct Listed<Entry> {
        var column: Column
        var cell: (Entry) -> String

        static func text(_ title: String, rank: Int = 0, _ cell: @escaping (Entry) -> String) -> Listed {
            Listed(column: .text(title, rank: rank), cell: cell)
        }
        /// An id, which people copy.
        static func id(_ title: String, rank: Int = 0, _ cell: @escaping (Entry) -> String) -> Listed {
            Listed(column: .whole(title, rank: rank), cell: cell)
        }
        static func time(_ title: String, rank: Int = 0, _ cell: @escaping (Entry) -> String) -> Listed {
            Listed(column: .time(title, rank: rank), cell: cell)
        }
        static func right(_ title: String, rank: Int = 0, _ cell: @escaping (Entry) -> String) -> Listed {
            Listed(column: .number(title, rank: rank), cell: cell)
        }
        static func count(_ title: String, rank: Int = 0, _ count: @escaping (Entry) -> Int) -> Listed {
            .right(title, rank: rank) { Terminal.grouped(count($0)) }
        }
    }

    /// The lines of a list: a heading, if columns have titles, a row for each entry, and what it does not show.
    /// - Parameters:
    ///   - nothing: the only line of an empty list
    ///   - total: how many entries there are, in words such as `names in all`
    ///   - next: the position for `--after` at which the list goes on
    ///   - width: columns of the terminal; nil: as wide as the list is
    ///   - columns: nil leaves one out
    static func list<Entry>(
        _ entries: [Entry], nothing: String? = nil, total: Int? = nil, words: String = "in all", next: String? = nil,
        width: Int? = Terminal.width, _ columns: Listed<Entry>?...
    ) -> [String] {
        if entries.isEmpty, let nothing { return [nothing] }
        let columns = columns.compactMap(\.self)
        var table = Table(columns.map(\.column))
        table.rows = entries.map { entry in columns.map { $0.cell(entry).visible } }
        let hidden = total.flatMap { $0 > entries.count ? "\(Terminal.grouped($0)) \(words)" : nil }
        return table.lines(width) + [hidden, next.map { "more: --after \($0)" }].compactMap(\.self)
    }

    mutating func add(_ cells: String...) { add(cells) }
    mutating func add(_ cells: [String]) { rows.append(cells.map(\.visible)) }

    /// The lines of the whole table.
    var lines: [String] { fitted(to: nil).lines }

    /// The lines for a terminal, with a note if columns had no room.
    func lines(_ width: Int?) -> [String] {
        let (lines, hidden) = fitted(to: width)
        return hidden.isEmpty
            ? lines : lines + ["not shown: \(hidden.joined(separator: ", ")) (--json, or a wider terminal)"]
    }

    func print() { lines.forEach(Terminal.print) }
}
