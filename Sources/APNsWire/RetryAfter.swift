/// `Retry-After` of an answer: any number of seconds, or an HTTP date (RFC 9110, 10.2.3). Every transport reads it
/// here.
public enum RetryAfter {
    /// The longest pause in seconds. No server's answer may postpone a token for longer.
    public static let longest = 3_600

    /// The pause that the server asks for.
    /// - Parameters:
    ///   - bytes: the field's value
    ///   - now: epoch seconds, for a date
    /// - Returns: seconds, 0 to `longest`; nil if the value is neither a number nor a date
    public static func seconds(_ bytes: some Collection<UInt8>, now: Int) -> Int? {
        let text = trimmed(bytes)
        guard let first = text.first else { return nil }
        if isDigit(first) {
            var seconds = 0
            for byte in text {
                guard isDigit(byte) else { return nil }
                // Limit the value at each digit, so that a long number cannot overflow.
                seconds = min(seconds * 10 + Int(byte - 0x30), longest)
            }
            return seconds
        }
        return date(text).map { min(max($0 - now, 0), longest) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func trimmed(_ bytes: some Collection<UInt8>) -> [UInt8] {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let text = Array(bytes.drop(while: isSpace))
        return Array(text.prefix(text.count - text.reversed().prefix(while: isSpace).count))
    }

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
        // Counts days since 1970-01-01 in years that begin on 1 March.
        // http://howardhinnant.github.io/date_algorithms.html
        let shifted = month < 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }
}
