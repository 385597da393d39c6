/// The records of all tokens, in many small dictionaries.
///
/// A single dictionary of hundreds of thousands sometimes doubles its memory. This blocks the simulator's thread (0.1 s
/// at 200,000 tokens) and would spoil measurements. Small dictionaries double at different times.
struct TokenTable: Sendable, Collection {
    private typealias Table = [[UInt8]: Recorder.TokenRecord]

    struct Index: Sendable, Comparable {
        fileprivate var table: Int
        /// Nil after the last table.
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

    /// Entries of the largest table. This bounds what the thread has to move at once.
    var largestTable: Int { tables.reduce(0) { Swift.max($0, $1.count) } }

    private static func table(of token: [UInt8]) -> Int { Int(truncatingIfNeeded: Draw.hash(token) % UInt64(tables)) }

    subscript(token: [UInt8]) -> Recorder.TokenRecord? { tables[Self.table(of: token)][token] }

    /// Changes the record in place, and makes it if there is none.
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

    /// The first token of this table or of a later one.
    private func first(from table: Int) -> Index {
        let filled = tables[Swift.min(table, Self.tables)...].firstIndex { !$0.isEmpty }
        return filled.map { Index(table: $0, place: tables[$0].startIndex) } ?? endIndex
    }
}
