import Glibc

/// The parts of a date and time as it was written. Each is in its range, but the day may not exist.
public struct TimeParts: Sendable {
    public private(set) var year = 0
    public private(set) var month = 0
    public private(set) var day = 0
    public private(set) var hour = 0
    public private(set) var minute = 0
    /// 60 is read too, because a clock shows it in a leap second.
    public private(set) var second = 0
    public private(set) var milliseconds: Int?
    /// Seconds east of Greenwich. Nil if the text has no zone.
    public private(set) var offset: Int?

    /// Reads `2026-11-21T18:00:00`. A space may stand for the `T`. A fraction may follow, and then `Z`, `+01:00`,
    /// `+0100` or `+01`.
    /// - Parameter secondsOptional: accept `18:00` as the time
    public init?(_ text: some StringProtocol, secondsOptional: Bool = false) {
        var rest = Array(text.utf8)[...]
        func skip(_ characters: StaticString...) -> UInt8? {
            guard let first = rest.first, characters.contains(where: { $0.utf8Start.pointee == first }) else {
                return nil
            }
            return rest.popFirst()
        }
        func number(_ length: Int, in range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix(length)
            guard digits.count == length, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest = rest.dropFirst(length)
            let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
            return range.contains(value) ? value : nil
        }
        guard let year = number(4, in: 0...9_999), skip("-") != nil, let month = number(2, in: 1...12),
            skip("-") != nil, let day = number(2, in: 1...31), skip("T", " ") != nil,
            let hour = number(2, in: 0...23), skip(":") != nil, let minute = number(2, in: 0...59)
        else { return nil }
        (self.year, self.month, self.day, self.hour, self.minute) = (year, month, day, hour, minute)
        if skip(":") != nil {
            guard let second = number(2, in: 0...60) else { return nil }
            self.second = second
        } else if !secondsOptional {
            return nil
        }
        if skip(".") != nil {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard (1...10).contains(digits.count) else { return nil }
            rest = rest.dropFirst(digits.count)
            milliseconds = (digits + [0x30, 0x30]).prefix(3).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        if skip("Z") != nil {
            offset = 0
        } else if let sign = skip("+", "-") {
            guard let hours = number(2, in: 0...23) else { return nil }
            var minutes = 0
            if !rest.isEmpty {
                _ = skip(":")
                guard let written = number(2, in: 0...59) else { return nil }
                minutes = written
            }
            offset = (sign == UInt8(ascii: "-") ? -60 : 60) * (hours * 60 + minutes)
        }
        guard rest.isEmpty else { return nil }
    }

    /// Epoch milliseconds, with UTC as the zone if none was written. Nil if the day does not exist.
    public var inUTC: Int64? {
        var midnight = tm()
        midnight.tm_year = Int32(year - 1_900)
        midnight.tm_mon = Int32(month - 1)
        midnight.tm_mday = Int32(day)
        let start = timegm(&midnight)
        // `timegm` turns 30 February into 2 March.
        guard midnight.tm_mday == Int32(day) else { return nil }
        let seconds = start + (hour * 60 + minute) * 60 + second - (offset ?? 0)
        return Int64(seconds) * 1_000 + Int64(milliseconds ?? 0)
    }
}
