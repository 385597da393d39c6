/// One value of a document. It is cheap to copy and keeps the document alive.
public struct JSONValue: Sendable {
    public enum Kind: UInt8, Sendable { case object, array, string, number, bool, null }

    let index: JSONIndex
    let number: Int
    private var node: JSONIndex.Node { index.nodes[number] }
    public var kind: Kind { node.kind }
    /// The byte range of the value's text in the document.
    public var range: Range<Int> { Int(node.start)..<Int(node.end) }
    /// The value exactly as written, without surrounding space.
    public var raw: ArraySlice<UInt8> { index.bytes[range] }
    public var location: JSONLocation { index.location(at: Int(node.start)) }
    /// The place of the value's key (its opening quote). Without a key, the value's own place.
    public var keyLocation: JSONLocation { node.keyStart < 0 ? location : index.location(at: Int(node.keyStart) - 1) }
    public var path: String { JSONPath.path(of: number, nodes: index.nodes, bytes: index.bytes) }
    /// An error about this value.
    public func error(_ message: String) -> JSONError { JSONError(message: message, path: path, location: location) }

    /// An error about this value's key.
    public func keyError(_ message: String) -> JSONError {
        JSONError(message: message, path: path, location: keyLocation)
    }
}

// Typed reading. Each method returns the value, or throws an error with path, place and the type found.
extension JSONValue {
    /// - Parameter known: the keys that the object may have. Nil: any.
    public func object(known: [String]? = nil) throws(JSONError) -> JSONObject {
        guard kind == .object else { throw mismatch("an object") }
        let members = children()
        // Compare keys by bytes. `String` treats two encodings of one character as equal, but JSON does not.
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
        let object = JSONObject(value: self, members: keyed)
        if let known { try object.refuseUnknownKeys(known: known) }
        return object
    }

    public func array() throws(JSONError) -> [JSONValue] {
        guard kind == .array else { throw mismatch("an array") }
        return children()
    }

    public func string() throws(JSONError) -> String {
        guard kind == .string else { throw mismatch("a string") }
        return JSONText.decode(index.bytes[(range.lowerBound + 1)..<(range.upperBound - 1)])
    }

    /// A number that fits 64 bits, exactly. It must have no fraction and no exponent.
    public func integer() throws(JSONError) -> Int64 {
        guard kind == .number else { throw mismatch("a whole number") }
        if let value = Int64(String(decoding: raw, as: UTF8.self)) { return value }
        let isWhole = raw.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        throw error(isWhole ? "must be a whole number of at most 64 bits" : "must be a whole number, without fraction")
    }

    /// Any number that a double holds: not too large, and not so small that it would become 0.
    public func double() throws(JSONError) -> Double {
        guard kind == .number else { throw mismatch("a number") }
        if let value = Double(String(decoding: raw, as: UTF8.self)), value.isFinite, value != 0 || isZero {
            return value
        }
        throw error("must be a number that fits a double")
    }

    /// Whether the digits before the exponent are all 0.
    private var isZero: Bool {
        let digits = UInt8(ascii: "1")...UInt8(ascii: "9")
        return raw.prefix { $0 | 0x20 != UInt8(ascii: "e") }.allSatisfy { !digits.contains($0) }
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
        Looks.add(Int(node.count))
        var child = number + 1
        for _ in 0..<node.count {
            values.append(JSONValue(index: index, number: child))
            child = Int(index.nodes[child].next)
        }
        return values
    }
}
