/// A parser for RFC 8259. It has no recursion: open containers are in an array, so no nesting overflows the stack.
struct JSONParser {
    let bytes: [UInt8]
    let maximumDepth: Int
    private var position = 0
    private var nodes: [JSONIndex.Node] = []
    /// The numbers of the open containers, outermost first.
    private var open: [Int] = []

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// The most values that the parser finds. Before each but the first is a comma or the beginning of a container.
    /// It is exact, but each empty container counts one too many.
    static func mostNodes(_ bytes: [UInt8]) -> Int {
        var count = 1
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\"") { isInString = false }
                if byte == UInt8(ascii: "\\") { isEscaped = true }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"): count += 1
                default: break
                }
            }
        }
        return min(count, mostNodes(ofLength: bytes.count))
    }

    /// A value has at least one byte, and all but the first have a byte beside it.
    static func mostNodes(ofLength count: Int) -> Int { count / 2 + 1 }

    /// The token that the grammar allows at `position`.
    private enum Expected { case value, firstElementOrEnd, firstKeyOrEnd, key, commaOrEnd }

    mutating func parse() throws(JSONError) -> JSONIndex {
        // Offsets have 32 bits.
        guard bytes.count < Int(Int32.max) else { throw failure("is larger than 2 GiB", at: 0) }
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
        } catch {
            throw failure("is not valid UTF-8 at this byte", at: error.byteOffsets.lowerBound)
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw failure("must not begin with a byte order mark", at: 0) }
        // An array that grows would take up to three times this for a moment, and callers count on `indexBytes`.
        nodes.reserveCapacity(Self.mostNodes(bytes))
        skipSpace()
        guard position < bytes.count else { throw failure("is empty: a JSON value is expected", at: 0) }
        var expected = Expected.value
        var key = 0..<0
        repeat {
            skipSpace()
            guard position < bytes.count else { throw failure("ends too early: \(unfinished(expected))", at: position) }
            let byte = bytes[position]
            switch expected {
            case .firstElementOrEnd where byte == UInt8(ascii: "]"), .firstKeyOrEnd where byte == UInt8(ascii: "}"):
                close()
                expected = .commaOrEnd
            case .firstKeyOrEnd, .key:
                key = try memberKey()
                expected = .value
            case .value, .firstElementOrEnd:
                expected = try value(key: key)
                key = 0..<0
            case .commaOrEnd: expected = try commaOrEnd(byte)
            }
        } while !open.isEmpty
        skipSpace()
        guard position == bytes.count else { throw failure("has something after its end", at: position) }
        return JSONIndex(bytes: bytes, nodes: nodes)
    }

    private mutating func commaOrEnd(_ byte: UInt8) throws(JSONError) -> Expected {
        let isObject = nodes[open[open.count - 1]].kind == .object
        if byte == UInt8(ascii: ",") {
            position += 1
            return isObject ? .key : .value
        }
        guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw failure("expects `,` or `\(isObject ? "}" : "]")` here", at: position)
        }
        close()
        return .commaOrEnd
    }

    /// Reads one scalar, or opens a container.
    private mutating func value(key: Range<Int>) throws(JSONError) -> Expected {
        let number = nodes.count
        let start = position
        let kind = try kind(of: bytes[start])
        let parent = open.last ?? -1
        var node = JSONIndex.Node(kind: kind, start: Int32(start), parent: Int32(parent), position: 0)
        if parent >= 0 {
            node.position = nodes[parent].count
            nodes[parent].count += 1
            if nodes[parent].kind == .object {
                node.keyStart = Int32(key.lowerBound)
                node.keyEnd = Int32(key.upperBound)
            }
        }
        nodes.append(node)
        switch kind {
        case .object, .array:
            guard open.count < maximumDepth else {
                throw failure("is nested deeper than \(maximumDepth) levels", at: start)
            }
            open.append(number)
            position += 1
            return kind == .object ? .firstKeyOrEnd : .firstElementOrEnd
        case .string: try string()
        case .number: try self.number()
        case .bool, .null: try word()
        }
        nodes[number].end = Int32(position)
        nodes[number].next = Int32(nodes.count)
        return .commaOrEnd
    }

    private func kind(of byte: UInt8) throws(JSONError) -> JSONValue.Kind {
        switch byte {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), 0x30...0x39: return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "'"): throw failure("uses single quotes: JSON strings stand in double quotes", at: position)
        case UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ","):
            throw failure("expects a value here, not `\(Character(Unicode.Scalar(byte)))`", at: position)
        default: throw failure("expects a JSON value here", at: position)
        }
    }

    private mutating func close() {
        position += 1
        let number = open.removeLast()
        nodes[number].end = Int32(position)
        nodes[number].next = Int32(nodes.count)
    }

    private mutating func memberKey() throws(JSONError) -> Range<Int> {
        guard bytes[position] == UInt8(ascii: "\"") else {
            throw failure("expects a key in double quotes here", at: position)
        }
        let start = position + 1
        try string()
        let key = start..<(position - 1)
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else {
            throw failure("expects `:` after a key", at: position)
        }
        position += 1
        return key
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func word() throws(JSONError) {
        for word in ["true", "false", "null"] where bytes[position...].starts(with: word.utf8) {
            position += word.utf8.count
            return
        }
        throw failure("expects true, false or null here", at: position)
    }

    private mutating func number() throws(JSONError) {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let leading = position
        guard digits() > 0 else { throw failure("has a malformed number", at: start) }
        if bytes[leading] == UInt8(ascii: "0"), position - leading > 1 {
            throw failure("has a number with a leading zero", at: start)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw failure("has a number without digits after the point", at: start) }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            let isSigned = position < bytes.count && [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[position])
            if isSigned { position += 1 }
            guard digits() > 0 else { throw failure("has a number without digits in its exponent", at: start) }
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        return position - start
    }

    private func unfinished(_ expected: Expected) -> String {
        switch expected {
        case .value: "a value is missing"
        case .key: "a key is missing"
        case .firstElementOrEnd, .firstKeyOrEnd, .commaOrEnd:
            nodes[open[open.count - 1]].kind == .object ? "an object is not closed" : "an array is not closed"
        }
    }

    private func failure(_ message: String, at offset: Int) -> JSONError {
        // The innermost open container is the place of the error. The root has an empty path.
        let path = open.last.map { JSONPath.path(of: $0, nodes: nodes, bytes: bytes) } ?? ""
        return JSONError(
            message: "the JSON text \(message)", path: path, location: JSONLocation(offset: offset, in: bytes))
    }

    private mutating func string() throws(JSONError) {
        let start = position
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw failure("has a control character in a string: write it as an escape", at: position)
            default: position += 1
            }
        }
        throw failure("has a string that is not closed", at: start)
    }

    private mutating func escape() throws(JSONError) {
        let start = position
        guard position + 1 < bytes.count else { throw failure("has an escape that is not finished", at: start) }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard let unit = JSONText.codeUnit(bytes[...], at: position) else {
                throw failure("has a `\\u` escape without four hex digits", at: start)
            }
            position += 6
            switch unit {
            case 0xD800...0xDBFF:
                guard let low = JSONText.codeUnit(bytes[...], at: position), (0xDC00...0xDFFF).contains(low) else {
                    throw failure("has half of a surrogate pair", at: start)
                }
                position += 6
            case 0xDC00...0xDFFF: throw failure("has half of a surrogate pair", at: start)
            default: break
            }
        default: throw failure("has an unknown escape", at: start)
        }
    }
}
