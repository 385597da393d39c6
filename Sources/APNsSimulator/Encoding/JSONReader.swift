/// Reads a JSON text (RFC 8259) without building values, so that a `content-state` can be kept exactly as sent.
struct JSONReader {
    enum Kind: Sendable { case object, array, string, number, boolean, null }

    struct Value: Sendable {
        var kind: Kind
        /// The range of its text, without the surrounding white space.
        var range: Range<Int>
    }

    /// Deeper texts are refused, because the reader is recursive.
    static let maximumDepth = 128

    private let text: [UInt8]
    private var position = 0

    private init(_ text: [UInt8]) { self.text = text }

    /// The value that `text` consists of. Nil if it is not JSON or not UTF-8.
    static func read(_ text: [UInt8]) -> Value? {
        guard String(validating: text, as: UTF8.self) != nil else { return nil }
        var reader = JSONReader(text)
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        return reader.position == text.count ? value : nil
    }

    /// The members of an object that `read` has accepted. If a name is repeated, the last one counts. Names with
    /// escapes are left out, because no name of Apple's needs one.
    static func members(_ text: [UInt8], of object: Value) -> [String: Value] {
        guard object.kind == .object else { return [:] }
        var reader = JSONReader(text)
        reader.position = object.range.lowerBound + 1
        var members: [String: Value] = [:]
        while true {
            reader.skipSpace()
            guard let name = reader.string() else { return members }
            reader.skipSpace()
            reader.position += 1
            guard let value = reader.value(depth: 0) else { return members }
            let bytes = text[(name.lowerBound + 1)..<(name.upperBound - 1)]
            if !bytes.contains(UInt8(ascii: "\\")) { members[String(decoding: bytes, as: UTF8.self)] = value }
            reader.skipSpace()
            guard reader.take(UInt8(ascii: ",")) else { return members }
        }
    }

    private mutating func skipSpace() {
        while position < text.count, [0x20, 0x09, 0x0a, 0x0d].contains(text[position]) { position += 1 }
    }

    private mutating func take(_ character: UInt8) -> Bool {
        guard position < text.count, text[position] == character else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) -> Value? {
        guard depth < Self.maximumDepth else { return nil }
        skipSpace()
        guard position < text.count else { return nil }
        let start = position
        let kind: Kind? =
            switch text[position] {
            case UInt8(ascii: "{"): container(end: UInt8(ascii: "}"), named: true, depth: depth) ? .object : nil
            case UInt8(ascii: "["): container(end: UInt8(ascii: "]"), named: false, depth: depth) ? .array : nil
            case UInt8(ascii: "\""): string() != nil ? .string : nil
            case UInt8(ascii: "t"): word("true") ? .boolean : nil
            case UInt8(ascii: "f"): word("false") ? .boolean : nil
            case UInt8(ascii: "n"): word("null") ? .null : nil
            default: number() ? .number : nil
            }
        return kind.map { Value(kind: $0, range: start..<position) }
    }

    private mutating func container(end: UInt8, named: Bool, depth: Int) -> Bool {
        position += 1
        skipSpace()
        if take(end) { return true }
        repeat {
            if named {
                skipSpace()
                guard string() != nil else { return false }
                skipSpace()
                guard take(UInt8(ascii: ":")) else { return false }
            }
            guard value(depth: depth + 1) != nil else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(end)
    }

    /// Reads a string. The range includes both quotation marks.
    private mutating func string() -> Range<Int>? {
        let start = position
        guard take(UInt8(ascii: "\"")) else { return nil }
        while position < text.count {
            let character = text[position]
            position += 1
            switch character {
            case UInt8(ascii: "\""): return start..<position
            case 0..<0x20: return nil
            case UInt8(ascii: "\\"):
                guard position < text.count else { return nil }
                let escaped = text[position]
                position += 1
                if escaped == UInt8(ascii: "u") {
                    guard position + 4 <= text.count,
                        text[position..<position + 4].allSatisfy({ Hexadecimal.nibble($0) != nil })
                    else { return nil }
                    position += 4
                } else if !"\"\\/bfnrt".utf8.contains(escaped) {
                    return nil
                }
            default: break
            }
        }
        return nil
    }

    private mutating func word(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { characters in
            guard text[position...].starts(with: characters) else { return false }
            position += characters.count
            return true
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while position < text.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[position]) { position += 1 }
        return position - start
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        let leadsWithZero = position < text.count && text[position] == UInt8(ascii: "0")
        let whole = digits()
        guard whole == 1 || (whole > 1 && !leadsWithZero) else { return false }
        if take(UInt8(ascii: ".")), digits() == 0 { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { return false }
        }
        return true
    }
}
