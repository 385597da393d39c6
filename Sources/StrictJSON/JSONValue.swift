/// One value of a document. Cheap to copy; keeps the document alive.
public struct JSONValue: Sendable {
    public enum Kind: UInt8, Sendable {
        case object, array, string, number, bool, null
    }

    let index: JSONIndex
    let number: Int

    private var node: JSONIndex.Node { index.nodes[number] }

    public var kind: Kind { node.kind }
    /// Where the value's text lies in the document.
    public var range: Range<Int> { Int(node.start)..<Int(node.end) }
    /// The value exactly as written, without the space around it.
    public var raw: ArraySlice<UInt8> { index.bytes[range] }
    public var location: JSONLocation { index.location(at: Int(node.start)) }
    /// Where the value's key begins (at its quote); its own location if it has none.
    public var keyLocation: JSONLocation {
        node.keyStart < 0 ? location : index.location(at: Int(node.keyStart) - 1)
    }
    public var path: String { JSONPath.path(of: number, nodes: index.nodes, bytes: index.bytes) }

    /// An error about this value, at its place.
    public func error(_ message: String) -> JSONError {
        JSONError(message: message, path: path, location: location)
    }

    /// An error about this value's key, at the key's place.
    public func keyError(_ message: String) -> JSONError {
        JSONError(message: message, path: path, location: keyLocation)
    }
}

// Typed reading: each either gives the value or throws a sentence that names path, place and the type found.
extension JSONValue {
    public func object() throws(JSONError) -> JSONObject {
        guard kind == .object else { throw mismatch("an object") }
        let members = children()
        // By their bytes: `String` would call two spellings of one character equal, which JSON does not.
        var seen: Set<[UInt8]> = []
        var keyed: [(key: String, value: JSONValue)] = []
        keyed.reserveCapacity(members.count)
        for member in members {
            let key = JSONText.decode(index.bytes[Int(member.node.keyStart)..<Int(member.node.keyEnd)])
            guard seen.insert(Array(key.utf8)).inserted else {
                throw member.keyError("appears twice in the same object")
            }
            keyed.append((key, member))
        }
        return JSONObject(value: self, members: keyed)
    }

    public func array() throws(JSONError) -> [JSONValue] {
        guard kind == .array else { throw mismatch("an array") }
        return children()
    }

    public func string() throws(JSONError) -> String {
        guard kind == .string else { throw mismatch("a string") }
        return JSONText.decode(index.bytes[(range.lowerBound + 1)..<(range.upperBound - 1)])
    }

    /// A number without fraction or exponent that fits 64 bits; exact.
    public func integer() throws(JSONError) -> Int64 {
        guard kind == .number else { throw mismatch("a whole number") }
        let text = String(decoding: raw, as: UTF8.self)
        if let value = Int64(text) { return value }
        let isWhole = raw.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        throw error(isWhole ? "must be a whole number of at most 64 bits" : "must be a whole number, without fraction")
    }

    /// Any number, as written. Finite as a double, too.
    public func numberText() throws(JSONError) -> ArraySlice<UInt8> {
        guard kind == .number else { throw mismatch("a number") }
        guard let value = Double(String(decoding: raw, as: UTF8.self)), value.isFinite else {
            throw error("must be a number that fits a double")
        }
        return raw
    }

    public func bool() throws(JSONError) -> Bool {
        guard kind == .bool else { throw mismatch("true or false") }
        return raw.first == UInt8(ascii: "t")
    }

    public func mismatch(_ wanted: String) -> JSONError {
        let found =
            switch kind {
            case .object: "an object"
            case .array: "an array"
            case .string: "a string"
            case .number: "a number"
            case .bool: String(decoding: raw, as: UTF8.self)
            case .null: "null"
            }
        return error("must be \(wanted), not \(found)")
    }

    private func children() -> [JSONValue] {
        var values: [JSONValue] = []
        values.reserveCapacity(Int(node.count))
        var child = number + 1
        for _ in 0..<node.count {
            values.append(JSONValue(index: index, number: child))
            child = Int(index.nodes[child].next)
        }
        return values
    }
}

/// An object whose keys have been seen to be different.
public struct JSONObject: Sendable {
    public let value: JSONValue
    public let members: [(key: String, value: JSONValue)]

    public subscript(_ key: String) -> JSONValue? { members.first { $0.key.utf8.elementsEqual(key.utf8) }?.value }

    /// The path that a member of this key has or would have.
    public func path(_ key: String) -> String { JSONPath.join(value.path, key) }

    public func required(_ key: String) throws(JSONError) -> JSONValue {
        guard let member = self[key] else { throw missing(key) }
        return member
    }

    /// The error for a key that should be there: its would-be path, the object's place.
    public func missing(_ key: String, _ message: String = "is required") -> JSONError {
        JSONError(message: message, path: path(key), location: value.location)
    }

    /// Throws for the first key that is not among `known`, naming the nearest of them.
    public func refuseUnknownKeys(known: [String]) throws(JSONError) {
        for (key, value) in members where !known.contains(key) {
            let nearest =
                known.nearest(to: key).map { "; did you mean `\($0)`?" } ?? "; known: \(known.joined(separator: ", "))"
            throw value.keyError("is not a known key here\(nearest)")
        }
    }
}
