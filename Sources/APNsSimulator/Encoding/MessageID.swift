private import FoundationEssentials

extension RandomDecision {
    /// An id in the form of a UUID version 4. Its bits come from `seed` and `number`.
    static func messageID(seed: UInt64, number: UInt64) -> MessageID {
        let high = mix(seed ^ mix(number)) & ~0xf000 | 0x4000
        let low = mix(seed &+ mix(~number)) & ~(0xc0 << 56) | (0x80 << 56)
        return MessageID(high: high, low: low)
    }
}

/// An `apns-id`: 128 bits, written as a canonical lowercase UUID.
struct MessageID: Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    /// Writes 36 characters.
    func write(_ put: (UInt8) -> Void) {
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { put(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            put(Hexadecimal.digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index % 16))) & 15))
        }
    }

    var text: String {
        var characters: [UInt8] = []
        characters.reserveCapacity(36)
        write { characters.append($0) }
        return String(decoding: characters, as: UTF8.self)
    }
}

extension MessageID {
    /// Reads Apple's form: 32 lowercase hexadecimal digits in groups of 8-4-4-4-12, with hyphens between them.
    init?(_ text: String) {
        guard let uuid = UUID(uuidString: text), uuid.uuidString.lowercased() == text else { return nil }
        self = withUnsafeBytes(of: uuid.uuid) { bytes in
            func word(_ offset: Int) -> UInt64 {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            return MessageID(high: word(0), low: word(8))
        }
    }
}
