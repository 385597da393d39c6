private import FoundationEssentials

/// Reads a JSON text (RFC 8259) without building values, so that a `content-state` can be kept exactly as sent.
struct JSONReader {
    enum Kind: Sendable { case object, array, string, number, boolean, null }

    struct Value: Sendable {
        let kind: Kind
        /// The text as sent, without the surrounding white space.
        let bytes: ArraySlice<UInt8>

        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// The characters of a string without escapes. Nil for any other value, because no text of Apple's needs one.
        var string: String? {
            guard kind == .string, !bytes.contains(UInt8(ascii: "\\")) else { return nil }
            return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
        }

        /// A time: a number whose fraction does not count. Nil for any other value, or one that is too large.
        var seconds: Int? {
            guard kind == .number, let number = Double(text), abs(number) < 1e15 else { return nil }
            return Int(number)
        }

        /// The characters of a string. Nil for any other value, and for half of a surrogate pair.
        var decodedString: String? {
            guard kind == .string else { return nil }
            return string ?? (try? JSONDecoder().decode(String.self, from: Data(bytes)))
        }

        /// The members of an object. If a name is repeated, the last one counts. Names with escapes are left out.
        var members: [String: Value] {
            var members: [String: Value] = [:]
            for (name, value) in entries { if let text = name.string { members[text] = value } }
            return members
        }

        /// The members of an object in their order, each with its name.
        var entries: [(name: Value, value: Value)] {
            guard kind == .object else { return [] }
            var reader = JSONReader(bytes.dropFirst())
            var entries: [(name: Value, value: Value)] = []
            while let name = reader.value(depth: 0) {
                reader.skipSpace()
                reader.position += 1
                guard let value = reader.value(depth: 0) else { break }
                entries.append((name, value))
                reader.skipSpace()
                guard reader.take(UInt8(ascii: ",")) else { break }
            }
            return entries
        }
    }

    /// Deeper texts are refused, because the reader is recursive.
    static let maximumDepth = 128

    private let text: ArraySlice<UInt8>
    private var position: Int

    private init(_ text: ArraySlice<UInt8>) {
        self.text = text
        position = text.startIndex
    }

    /// The value that `text` consists of. Nil if it is not JSON or not UTF-8.
    static func read(_ text: [UInt8]) -> Value? {
        guard String(validating: text, as: UTF8.self) != nil else { return nil }
        var reader = JSONReader(text[...])
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        return reader.position == text.endIndex ? value : nil
    }

    private mutating func skipSpace() {
        while position < text.endIndex, [0x20, 0x09, 0x0a, 0x0d].contains(text[position]) { position += 1 }
    }

    private mutating func take(_ character: UInt8) -> Bool {
        guard position < text.endIndex, text[position] == character else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) -> Value? {
        guard depth < Self.maximumDepth else { return nil }
        skipSpace()
        guard position < text.endIndex else { return nil }
        let start = position
        let kind: Kind? =
            switch text[position] {
            case UInt8(ascii: "{"): container(end: UInt8(ascii: "}"), named: true, depth: depth) ? .object : nil
            case UInt8(ascii: "["): container(end: UInt8(ascii: "]"), named: false, depth: depth) ? .array : nil
            case UInt8(ascii: "\""): string() ? .string : nil
            case UInt8(ascii: "t"): word("true") ? .boolean : nil
            case UInt8(ascii: "f"): word("false") ? .boolean : nil
            case UInt8(ascii: "n"): word("null") ? .null : nil
            default: number() ? .number : nil
            }
        return kind.map { Value(kind: $0, bytes: text[start..<position]) }
    }

    private mutating func container(end: UInt8, named: Bool, depth: Int) -> Bool {
        position += 1
        skipSpace()
        if take(end) { return true }
        repeat {
            if named {
                skipSpace()
                guard string() else { return false }
                skipSpace()
                guard take(UInt8(ascii: ":")) else { return false }
            }
            guard value(depth: depth + 1) != nil else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(end)
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while position < text.endIndex {
            let character = text[position]
            position += 1
            switch character {
            case UInt8(ascii: "\""): return true
            case 0..<0x20: return false
            case UInt8(ascii: "\\"):
                guard position < text.endIndex else { return false }
                let escaped = text[position]
                position += 1
                if escaped == UInt8(ascii: "u") {
                    guard position + 4 <= text.endIndex,
                        text[position..<position + 4].allSatisfy({ Hexadecimal.nibble($0) != nil })
                    else { return false }
                    position += 4
                } else if !"\"\\/bfnrt".utf8.contains(escaped) {
                    return false
                }
            default: break
            }
        }
        return false
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
        while position < text.endIndex, (0x30...0x39).contains(text[position]) { position += 1 }
        return position - start
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        let leadsWithZero = position < text.endIndex && text[position] == UInt8(ascii: "0")
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
