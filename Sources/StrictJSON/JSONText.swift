/// Decodes the text inside a JSON string's quotes.
enum JSONText {
    /// Resolves escapes. The parser has already checked `bytes`: valid UTF-8, complete escapes, paired surrogates.
    static func decode(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var position = bytes.startIndex
        while position < bytes.endIndex {
            let byte = bytes[position]
            position += 1
            guard byte == UInt8(ascii: "\\") else {
                out.append(byte)
                continue
            }
            let letter = bytes[position]
            position += 1
            switch letter {
            case UInt8(ascii: "b"): out.append(0x08)
            case UInt8(ascii: "f"): out.append(0x0C)
            case UInt8(ascii: "n"): out.append(0x0A)
            case UInt8(ascii: "r"): out.append(0x0D)
            case UInt8(ascii: "t"): out.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = codeUnit(bytes, at: position - 2) ?? 0
                position += 4
                if (0xD800...0xDBFF).contains(scalar), let low = codeUnit(bytes, at: position) {
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                    position += 6
                }
                out.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
            default: out.append(letter)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The code unit of the escape `\uXXXX` that begins at `start`. Nil if there is none.
    static func codeUnit(_ bytes: ArraySlice<UInt8>, at start: Int) -> UInt32? {
        guard start + 6 <= bytes.endIndex, bytes[start...].starts(with: #"\u"#.utf8) else { return nil }
        var unit: UInt32 = 0
        for digit in bytes[start + 2..<start + 6] {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt32(value)
        }
        return unit
    }
}
