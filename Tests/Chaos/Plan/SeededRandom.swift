/// SplitMix64: the same numbers from the same seed on every machine.
/// Source: https://prng.di.unimi.it/splitmix64.c
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    /// A separate generator for each purpose, so that one more number for one purpose does not change the others.
    init(_ seed: UInt64, _ purpose: String) {
        state = purpose.utf8.reduce(seed ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ share: Double) -> Bool { Double(next() >> 11) * 0x1p-53 < share }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// One of the values, drawn by weight.
    mutating func pick<Value>(_ weighted: [(weight: Double, value: Value)]) -> Value {
        var drawn = Double(next() >> 11) * 0x1p-53 * weighted.reduce(0) { $0 + $1.weight }
        for (weight, value) in weighted {
            drawn -= weight
            if drawn < 0 { return value }
        }
        return weighted[weighted.count - 1].value
    }
}
