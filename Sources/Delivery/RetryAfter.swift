/// `Retry-After` of an answer: any number of seconds, or an HTTP date (RFC 9110, 10.2.3).
public enum RetryAfter {
    /// The longest pause in seconds. No server's answer may postpone a token for longer.
    public static let longest = 3_600

    /// The pause that the server asks for, in seconds: 0 to `longest`. `now` is in epoch seconds.
    /// - Returns: nil if the value is neither a number nor a date
    public static func seconds(_ bytes: some Collection<UInt8>, now: Int) -> Int? {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let text: [UInt8] = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        guard !text.isEmpty, text.allSatisfy(isDigit) else {
            return date(text).map { min(max($0 - now, 0), longest) }
        }
        // Limit the value at each digit, so that a long number cannot overflow.
        return text.reduce(0) { min($0 * 10 + Int($1 - 0x30), longest) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers may send, as epoch seconds.
    private static func date(_ text: [UInt8]) -> Int? {
        guard text.count == 29, text[3...4].elementsEqual(", ".utf8), text[25...].elementsEqual(" GMT".utf8) else {
            return nil
        }
        func number(_ start: Int, _ count: Int) -> Int? {
            let digits = text[start..<start + count]
            return digits.allSatisfy(isDigit) ? digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
        }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let day = number(5, 2), let year = number(12, 4), let hour = number(17, 2), let minute = number(20, 2),
            let second = number(23, 2), let month = months.firstIndex(where: { text[8...10].elementsEqual($0.utf8) }),
            year >= 1970, (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        // Days since 1970-01-01, in years from 1 March: http://howardhinnant.github.io/date_algorithms.html
        let shifted = month < 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }
}
