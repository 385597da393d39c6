/// 16 bytes with a canonical text form in lowercase, as in RFC 9562.
public struct UUIDBytes: Hashable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random (version 4) UUID from the system's generator.
    public static func random() -> UUIDBytes {
        var generator = SystemRandomNumberGenerator()
        let high = (generator.next() & ~0xF000) | 0x4000
        let low = (generator.next() & ~(0b11 << 62)) | (0b10 << 62)
        return UUIDBytes(high: high, low: low)
    }

    /// A UUID of version 7, which sorts by its time (epoch ms) and then by its index.
    public static func ordered(at time: Int64, index: Int) -> UUIDBytes {
        let high = UInt64(truncatingIfNeeded: time) << 16 | 0x7000 | UInt64(min(max(index, 0), 0xFFF))
        return UUIDBytes(high: high, low: random().low)
    }

    /// Reads the 36-character text form in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        var values: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for byte in text.utf8 {
            defer { position += 1 }
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let nibble = Hex.value(byte), digits < 32 else { return nil }
            if digits < 16 {
                values.0 = values.0 << 4 | UInt64(nibble)
            } else {
                values.1 = values.1 << 4 | UInt64(nibble)
            }
            digits += 1
        }
        guard position == 36, digits == 32 else { return nil }
        self.init(high: values.0, low: values.1)
    }

    /// The 16 bytes, most significant first.
    public var bytes: [UInt8] {
        (0..<16).map { index in
            let word = index < 8 ? high : low
            return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index & 7)))
        }
    }

    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        self.init(high: words.0, low: words.1)
    }

    public var description: String {
        let hex = Hex.encode(bytes)
        var text = ""
        text.reserveCapacity(36)
        for (index, character) in hex.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
            text.append(character)
        }
        return text
    }
}
