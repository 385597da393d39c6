/// A hash from a reply with fields and values in turn, with typed reading. Small: at most a few dozen fields.
package struct StoredHash {
    private var values: [String: ArraySlice<UInt8>] = [:]

    package init(_ reply: Reply) throws(StoreError) {
        let items = try reply.array()
        guard items.count.isMultiple(of: 2) else { throw .unexpectedReply("a hash of odd length") }
        for index in stride(from: 0, to: items.count, by: 2) {
            values[try items[index].string()] = try items[index + 1].bytes()
        }
    }

    /// Reads the answer to HMGET of `names`.
    package init(_ names: [String], _ reply: Reply) throws(StoreError) {
        let items = try reply.array()
        try StoreError.check(items.count, of: "HMGET", is: names.count)
        for (name, item) in zip(names, items) { values[name] = try item.optionalBytes() }
    }

    package init(_ fields: [String: [UInt8]]) { values = fields.mapValues { $0[...] } }

    package var isEmpty: Bool { values.isEmpty }
    package func bytes(_ field: String) -> ArraySlice<UInt8>? { values[field] }
    package func text(_ field: String) -> String? { values[field].flatMap { String(validating: $0, as: UTF8.self) } }
    package func number(_ field: String) -> Int? { text(field).flatMap { StoredNumber.read($0) } }
    package var pairs: [(String, String)] { values.map { ($0.key, String(decoding: $0.value, as: UTF8.self)) } }
}
