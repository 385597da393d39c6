/// One of the 16,384 parts among which a cluster divides its keys.
/// Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
struct HashSlot: Sendable, Hashable, CustomStringConvertible {
    static let count = 16_384
    let number: UInt16

    init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = UInt16(number)
    }

    /// The slot of a key, by its hash tag if it has one.
    init(key: UnsafeRawBufferPointer) { number = Self.crc(Self.tag(of: key)) & UInt16(Self.count - 1) }

    init(key: String) {
        var key = key
        self = key.withUTF8 { HashSlot(key: UnsafeRawBufferPointer($0)) }
    }

    var description: String { "slot \(number)" }

    /// The text between the first `{` and the next `}`. If there is none or it is empty, the whole key.
    static func tag(of key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")),
            let length = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")).map({ $0 - open - 1 }), length > 0
        else { return key }
        return UnsafeRawBufferPointer(rebasing: key[open + 1..<open + 1 + length])
    }

    /// CRC-16/XMODEM, as the cluster specification demands.
    static func crc(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
        bytes.reduce(0) { $0 << 8 ^ table[Int(UInt8($0 >> 8) ^ $1)] }
    }

    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
}
