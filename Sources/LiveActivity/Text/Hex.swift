/// Hexadecimal text: reads both cases, writes lowercase.
public enum Hex {
    /// The value of one digit, nil for any other byte.
    @inlinable public static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x61...0x66: digit &- 0x57
        case 0x41...0x46: digit &- 0x37
        default: nil
        }
    }

    /// The digit of a value of 0 to 15.
    @inlinable public static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x57 &+ value }

    /// The bytes that hex digits stand for. Nil when the text has an odd length or another character than a hex digit.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? { text.utf8.withBytes(decode) }

    private static func decode(_ digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        let length = digits.count / 2
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
            while count < length, let high = value(digits[2 * count]), let low = value(digits[2 * count + 1]) {
                bytes[count] = high << 4 | low
                count += 1
            }
        }
        return bytes.count == length ? bytes : nil
    }

    public static func encode(_ bytes: some Collection<UInt8>) -> String { bytes.withBytes(encode) }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { digits in
            for (position, byte) in bytes.enumerated() {
                digits[2 * position] = digit(byte >> 4)
                digits[2 * position + 1] = digit(byte & 0xF)
            }
            return bytes.count * 2
        }
    }
}
