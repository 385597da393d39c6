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
                var scalar = hex4(bytes, position)
                position += 4
                if (0xD800...0xDBFF).contains(scalar) {
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (hex4(bytes, position + 2) - 0xDC00)
                    position += 6
                }
                out.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
            default: out.append(letter)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func hex4(_ bytes: ArraySlice<UInt8>, _ start: Int) -> UInt32 {
        bytes[start..<start + 4].reduce(0) { $0 << 4 | UInt32(Character(Unicode.Scalar($1)).hexDigitValue ?? 0) }
    }
}
