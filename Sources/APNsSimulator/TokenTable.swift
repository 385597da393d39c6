/// What was noted of each token. A single dictionary of hundreds of thousands doubles now and then, and the simulator's thread would
/// stand still meanwhile, for a tenth of a second at 200,000: what is measured with it would be slow for no reason of its
/// own. Of many small ones each doubles at a time of its own.
struct TokenTable: Sendable, Collection {
    private typealias Table = [[UInt8]: Recorder.TokenRecord]

    struct Index: Sendable, Comparable {
        fileprivate var table: Int
        /// Nil behind the last table.
        fileprivate var place: Dictionary<[UInt8], Recorder.TokenRecord>.Index?

        static func < (one: Index, other: Index) -> Bool {
            if one.table != other.table { return one.table < other.table }
            guard let first = one.place, let second = other.place else { return false }
            return first < second
        }
    }

    private static let tables = 1_024
    private var tables: [Table] = Array(repeating: [:], count: TokenTable.tables)
    private(set) var count = 0

    /// Entries of the largest of the tables: what the thread may have to move at once.
    var largestTable: Int { tables.reduce(0) { Swift.max($0, $1.count) } }

    private static func table(of token: [UInt8]) -> Int { Int(truncatingIfNeeded: Draw.hash(token) % UInt64(tables)) }

    subscript(token: [UInt8]) -> Recorder.TokenRecord? { tables[Self.table(of: token)][token] }

    /// Changed in place; made when it is not there.
    subscript(token: [UInt8], default make: @autoclosure () -> Recorder.TokenRecord) -> Recorder.TokenRecord {
        get { self[token] ?? make() }
        _modify {
            let table = Self.table(of: token)
            let before = tables[table].count
            defer { count += tables[table].count - before }
            yield &tables[table][token, default: make()]
        }
    }

    // MARK: Collection, in no order

    var startIndex: Index { first(from: 0) }
    var endIndex: Index { Index(table: Self.tables, place: nil) }

    subscript(index: Index) -> (key: [UInt8], value: Recorder.TokenRecord) {
        guard let place = index.place else { preconditionFailure("behind the last token") }
        return tables[index.table][place]
    }

    func index(after index: Index) -> Index {
        guard let place = index.place else { preconditionFailure("behind the last token") }
        let next = tables[index.table].index(after: place)
        return next == tables[index.table].endIndex
            ? first(from: index.table + 1) : Index(table: index.table, place: next)
    }

    /// The first token of that table or of one behind it.
    private func first(from table: Int) -> Index {
        let filled = tables[Swift.min(table, Self.tables)...].firstIndex { !$0.isEmpty }
        return filled.map { Index(table: $0, place: tables[$0].startIndex) } ?? endIndex
    }
}
