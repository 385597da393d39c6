/// Reproducible random numbers in 0..<1. The same seed, purpose and token hash always give the same number.
enum RandomDecision: UInt64 {
    case dead = 1
    case deadReason = 2
    case rejection = 3
    case reset = 4
    case stall = 5
    case latency = 6
    case reorder = 7

    func callAsFunction(seed: UInt64, _ hash: UInt64, attempt: Int = 0) -> Double {
        var state = hash ^ Self.mix(seed &+ rawValue &* 0x9e37_79b9_7f4a_7c15)
        state = Self.mix(state &+ UInt64(truncatingIfNeeded: attempt) &* 0xd1b5_4a32_d192_ed03)
        return Double(state >> 11) * 0x1p-53
    }

    /// The finalizer of SplitMix64.
    static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9e37_79b9_7f4a_7c15
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// FNV-1a with 64 bits.
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }
}
