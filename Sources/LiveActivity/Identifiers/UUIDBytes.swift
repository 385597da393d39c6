/// 16 bytes with a canonical text form in lowercase, as in RFC 9562.
public struct UUIDBytes: Hashable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// A random (version 4) UUID that nobody can guess.
    public static func random() -> UUIDBytes {
        UUIDBytes(high: RandomNumbers.next(), low: RandomNumbers.next()).ofVersion(4)
    }

    /// A UUID of version 8, made by the application: the first 16 bytes of a digest.
    public static func named(by digest: some Collection<UInt8>) -> UUIDBytes {
        guard let start = UUIDBytes(bytes: digest.prefix(16)) else { preconditionFailure("a digest is longer") }
        return start.ofVersion(8)
    }

    /// The bytes with the bits of a version and of the variant.
    private func ofVersion(_ version: UInt64) -> UUIDBytes {
        UUIDBytes(high: high & ~0xF000 | version << 12, low: low & ~(0b11 << 62) | 0b10 << 62)
    }

    /// A UUID of version 7, which sorts by its time (epoch ms) and then by its index.
    public static func ordered(at time: Int64, index: Int) -> UUIDBytes {
        let high = UInt64(truncatingIfNeeded: time) << 16 | UInt64(min(max(index, 0), 0xFFF))
        return UUIDBytes(high: high, low: RandomNumbers.next()).ofVersion(7)
    }

    /// An ordered UUID with the start of a digest in place of index and chance.
    public static func ordered(at time: Int64, named digest: some Collection<UInt8>) -> UUIDBytes {
        let rest = named(by: digest)
        return UUIDBytes(high: UInt64(truncatingIfNeeded: time) << 16 | 0x7000 | rest.high & 0xFFF, low: rest.low)
    }

    /// The time (epoch ms) in a UUID of version 7. Another version has no meaning here.
    public var time: Int64 { Int64(high >> 16) }

    /// Reads the 36-character text form in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let words = text.utf8.withBytes(Self.words) else { return nil }
        self.init(high: words.high, low: words.low)
    }

    private static func words(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard text.count == textLength else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (position, byte) in text.enumerated() {
            if isDash(position) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Hex.value(byte) else { return nil }
            words.high = words.high << 4 | words.low >> 60
            words.low = words.low << 4 | UInt64(digit)
        }
        return words
    }

    private static let textLength = 36
    /// Whether the text form has a dash at this position.
    private static func isDash(_ position: Int) -> Bool {
        position == 8 || position == 13 || position == 18 || position == 23
    }

    /// The 16 bytes, most significant first.
    public var bytes: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }

    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
        self.init(high: UInt64(bigEndian: words.high), low: UInt64(bigEndian: words.low))
    }

    public var description: String {
        String(unsafeUninitializedCapacity: Self.textLength) { text in
            var shift = 60
            for position in 0..<Self.textLength {
                if Self.isDash(position) {
                    text[position] = UInt8(ascii: "-")
                    continue
                }
                // The shift goes down from 60 twice, once for each half.
                text[position] = Hex.digit(UInt8((position < 18 ? high : low) >> UInt64(shift) & 0xF))
                shift = shift == 0 ? 60 : shift - 4
            }
            return Self.textLength
        }
    }
}
