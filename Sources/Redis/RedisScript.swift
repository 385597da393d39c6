/// A Lua script. EVALSHA names it by its digest.
public struct RedisScript: Sendable, Hashable {
    public let name: String
    public let source: String
    /// SHA-1 of the source in lowercase hex, as SCRIPT LOAD returns it.
    public let digest: String

    public init(name: String, source: String) {
        self.name = name
        self.source = source
        digest = sha1Hex(Array(source.utf8))
    }

    var loadCommand: RedisCommand { RedisCommand("SCRIPT", ["LOAD", .string(source)]) }
}

/// SHA-1 (RFC 3174), only for the names of scripts. Redis prescribes it, and nothing secret depends on it.
func sha1Hex(_ message: [UInt8]) -> String {
    var padded = message
    padded.append(0x80)
    while padded.count % 64 != 56 { padded.append(0) }
    let bitCount = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) {
        padded.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
    }

    func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var words = [UInt32](repeating: 0, count: 80)
    for block in stride(from: 0, to: padded.count, by: 64) {
        for index in 0..<16 {
            words[index] = padded[block + index * 4..<block + index * 4 + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, 5) &+ mixed &+ e &+ constant &+ words[index]
            (e, d, c, b, a) = (d, c, rotated(b, 30), a, next)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }
    let digits = Array("0123456789abcdef".utf8)
    let text = state.flatMap { word in
        stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 15)] }
    }
    return String(decoding: text, as: UTF8.self)
}
