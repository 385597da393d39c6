/// The records of all tokens, in many small dictionaries that double their memory at different times. When one large
/// dictionary doubles, it blocks the thread (0.1 s at 200,000 tokens), which would spoil measurements.
struct TokenTable: Sendable {
    private static let size = 1_024
    private(set) var tables: [[[UInt8]: Recorder.TokenRecord]] = Array(repeating: [:], count: size)
    private(set) var count = 0

    private static func table(of token: [UInt8]) -> Int { Int(truncatingIfNeeded: Draw.hash(token) % UInt64(size)) }

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
}
