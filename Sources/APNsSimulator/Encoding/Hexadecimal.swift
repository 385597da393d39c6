/// Reads and writes the hex form of tokens and UUIDs.
enum Hexadecimal {
    static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }

    /// The bytes that hex digits stand for. Nil unless the text is an even number of hex digits, at least two.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        // A text in one piece of memory is read several times as fast as one through a string's indices.
        text.withContiguousStorageIfAvailable(decodeContiguous) ?? Array(text).withUnsafeBufferPointer(decodeContiguous)
    }

    private static func decodeContiguous(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard !text.isEmpty, text.count.isMultiple(of: 2) else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 2) { bytes, count in
            while count < text.count / 2, let high = nibble(text[2 * count]), let low = nibble(text[2 * count + 1]) {
                bytes[count] = high << 4 | low
                count += 1
            }
        }
        return bytes.count == text.count / 2 ? bytes : nil
    }

    static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var index = 0
            for byte in bytes {
                buffer[index] = digit(byte >> 4)
                buffer[index + 1] = digit(byte & 15)
                index += 2
            }
            return index
        }
    }
}
