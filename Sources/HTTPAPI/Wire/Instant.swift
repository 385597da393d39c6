/// Points in time as the API writes and reads them. Inside they are epoch milliseconds.
enum Instant {
    /// Writes the form `2026-11-21T18:00:00.123Z`.
    static func text(_ milliseconds: Int64) -> String {
        let (days, inDay) = floorDivide(milliseconds, 86_400_000)
        let (year, month, day) = civil(days)
        let (seconds, fraction) = floorDivide(inDay, 1_000)
        return
            "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T"
            + "\(pad(seconds / 3_600, 2)):\(pad(seconds / 60 % 60, 2)):\(pad(seconds % 60, 2)).\(pad(fraction, 3))Z"
    }

    /// Writes Airship's form `2026-11-21T18:00:00`: UTC without a zone, in whole seconds.
    static func plainText(_ milliseconds: Int64) -> String { String(text(milliseconds).dropLast(5)) }

    /// Reads `2026-11-21T18:00:00`, in UTC if no zone follows.
    ///
    /// A fraction may follow, and then `Z` or an offset such as `+01:00`. A
    /// space may stand for the `T`. Nil for anything else.
    static func parse(_ text: some StringProtocol) -> Int64? {
        var bytes = Array(text.utf8)
        var offset: Int64 = 0
        if bytes.last == UInt8(ascii: "Z") {
            bytes.removeLast()
        } else if let sign = bytes.dropFirst(19).lastIndex(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
        ) {
            guard let minutes = minutes(bytes[(sign + 1)...]) else { return nil }
            offset = bytes[sign] == UInt8(ascii: "-") ? -minutes : minutes
            bytes.removeSubrange(sign...)
        }
        guard bytes.count >= 19, bytes.count <= 30 else { return nil }
        func number(_ start: Int, _ length: Int) -> Int64? {
            bytes[start..<start + length].reduce(Int64?.some(0)) { total, byte in
                (0x30...0x39).contains(byte) ? total.map { $0 * 10 + Int64(byte - 0x30) } : nil
            }
        }
        let separators: [(Int, [UInt8])] = [
            (4, Array("-".utf8)), (7, Array("-".utf8)), (10, Array("T ".utf8)), (13, Array(":".utf8)),
            (16, Array(":".utf8)),
        ]
        guard separators.allSatisfy({ $0.1.contains(bytes[$0.0]) }),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2),
            let hour = number(11, 2), let minute = number(14, 2), let second = number(17, 2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if bytes.count > 19 {
            guard bytes.count > 20, bytes[19] == UInt8(ascii: "."), number(20, bytes.count - 20) != nil else {
                return nil
            }
            let digits = Array((bytes[20...] + [0x30, 0x30]).prefix(3))
            fraction = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        let days = daysFromCivil(year, month, day)
        guard civil(days) == (year, month, day) else { return nil }
        return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1_000 + fraction
    }

    /// Reads `01:00`, `0100` or `01`, less than a day, as minutes.
    private static func minutes(_ offset: ArraySlice<UInt8>) -> Int64? {
        let digits = offset.filter { $0 != UInt8(ascii: ":") }
        let isWhole =
            offset.count == digits.count || (offset.count == 5 && offset.dropFirst(2).first == UInt8(ascii: ":"))
        guard isWhole, [2, 4].contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        let numbers = digits.map { Int64($0 - 0x30) } + [0, 0]
        let hours = numbers[0] * 10 + numbers[1]
        let rest = numbers[2] * 10 + numbers[3]
        return hours < 24 && rest < 60 ? hours * 60 + rest : nil
    }

    // Days since 1970-01-01 in the proleptic Gregorian calendar, in eras of 400 years that begin on 1 March.
    // Source: http://howardhinnant.github.io/date_algorithms.html
    private static func daysFromCivil(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivide(month <= 2 ? year - 1 : year, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let remainder = value % divisor
        let positive = remainder < 0 ? remainder + divisor : remainder
        return ((value - positive) / divisor, positive)
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
