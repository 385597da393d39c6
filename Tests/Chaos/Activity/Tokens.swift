enum Tokens {
    private static let digits = Array("0123456789abcdef".utf8)
    static let bytes = 64

    /// Makes 64 bytes that differ not only in their beginning, like real tokens.
    static func hex(_ id: TokenID) -> String {
        var bytes = [id.fate.byte]
        bytes += [UInt8(id.name >> 8), UInt8(truncatingIfNeeded: id.name)]
        bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: id.place >> $0) }
        bytes += [UInt8(id.generation >> 8), UInt8(truncatingIfNeeded: id.generation)]
        var filler = SeededRandom(bytes.reduce(0) { $0 << 7 ^ $0 >> 57 ^ UInt64($1) })
        while bytes.count < Self.bytes {
            let word = filler.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return String(unsafeUninitializedCapacity: Self.bytes * 2) { buffer in
            for index in 0..<Self.bytes {
                buffer[2 * index] = digits[Int(bytes[index] >> 4)]
                buffer[2 * index + 1] = digits[Int(bytes[index] & 15)]
            }
            return Self.bytes * 2
        }
    }

    /// Reads the first 18 digits of a token. Nil if the token is not of this run.
    static func id(_ hex: some Sequence<UInt8>) -> TokenID? {
        var value: (high: UInt64, low: UInt64) = (0, 0)
        var count = 0
        for digit in hex.prefix(18) {
            let nibble: UInt64
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
            if count < 2 { value.high = value.high << 4 | nibble } else { value.low = value.low << 4 | nibble }
            count += 1
        }
        guard count == 18, let fate = Fate(byte: UInt8(value.high)) else { return nil }
        return TokenID(
            name: UInt16(truncatingIfNeeded: value.low >> 48), place: UInt32(truncatingIfNeeded: value.low >> 16),
            generation: UInt16(truncatingIfNeeded: value.low), fate: fate)
    }

    /// Most tokens live. In a name with few tokens all live, because nothing would be left to check otherwise.
    static func fate(_ random: inout SeededRandom, size: Int, living cohorts: Range<Int>) -> Fate {
        guard size > 10 else { return .living }
        let fate: Fate = random.pick([
            (92, .living), (1.5, .unregistered), (1, .badDeviceToken), (0.5, .expired), (3, .dying(0)), (2, .doubted),
        ])
        guard case .dying = fate else { return fate }
        return cohorts.isEmpty ? .living : .dying(random.number(cohorts.lowerBound...cohorts.upperBound - 1))
    }

    // MARK: As faults of the simulator

    /// The beginning of a name's living tokens, as hex.
    /// - Parameter places: 1, 16 or 256: those of the first places; nil: of all
    static func prefix(name: Int, places: Int?) -> String {
        let name = String(name, radix: 16)
        let zeros = places.map { $0 == 1 ? 8 : $0 == 16 ? 7 : 6 } ?? 0
        return "11" + String(repeating: "0", count: 4 - name.count) + name + String(repeating: "0", count: zeros)
    }

    /// The same for the first `places` places, in as few prefixes as hold no other place.
    static func prefixes(name: Int, places: Int) -> [String] {
        let start = prefix(name: name, places: nil)
        var prefixes: [String] = []
        var place = 0
        while place < places {
            // A digit stands for four bits.
            var digits = 0
            while digits < 3, place % (16 << (4 * digits)) == 0, place + (16 << (4 * digits)) <= places { digits += 1 }
            let text = String(place >> (4 * digits), radix: 16)
            prefixes.append(start + String(repeating: "0", count: 8 - digits - text.count) + text)
            place += 1 << (4 * digits)
        }
        return prefixes
    }

    /// The simulator's faults for dead tokens. `since` holds the epoch milliseconds at which each cohort that
    /// is dead by now died.
    static func deadTokens(since: [Int64], doubted: Bool) -> String {
        var entries = [
            #"{"prefix":"d1","reason":"Unregistered"}"#, #"{"prefix":"d2","reason":"BadDeviceToken"}"#,
            #"{"prefix":"d3","reason":"ExpiredToken"}"#,
        ]
        for (cohort, time) in since.enumerated() {
            entries.append(#"{"prefix":"e\#(cohort)","reason":"Unregistered","since_ms":\#(time)}"#)
        }
        if doubted { entries.append(#"{"prefix":"f1","reason":"Unregistered","since_ms":1600000000000}"#) }
        return #""dead_tokens":[\#(entries.joined(separator: ","))]"#
    }
}
