import Glibc

/// Times as text. The program itself counts in epoch milliseconds, epoch seconds or seconds.
public enum TimeText {
    /// Writes `2026-11-21T18:00:00.123Z`.
    public static func text(_ milliseconds: Int64) -> String {
        let fraction = (milliseconds % 1_000 + 1_000) % 1_000
        return "\(plainText(milliseconds)).\(String(1_000 + fraction).dropFirst())Z"
    }

    /// Writes Airship's form `2026-11-21T18:00:00`: UTC without a zone, in whole seconds.
    public static func plainText(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1_000 - (milliseconds % 1_000 < 0 ? 1 : 0))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    /// Reads `2026-11-21T18:00:00` with an optional fraction and zone as epoch milliseconds, in UTC without a zone.
    /// - Returns: nil for any other text, and for a day that does not exist
    public static func parse(_ text: some StringProtocol) -> Int64? { TimeParts(text)?.inUTC }

    /// Reads `10`, `0.5`, `10s`, `500ms`, `2m` or `1h` as seconds.
    public static func duration(_ text: some StringProtocol) -> Double? {
        for (suffix, factor) in [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600)] where text.hasSuffix(suffix) {
            return number(text.dropLast(suffix.count)).map { $0 * factor }
        }
        return number(text)
    }

    /// Reads epoch seconds, `now`, or a time from now such as `+90`, `+15m`, `+2h` or `+1d`.
    public static func epochSeconds(_ text: String, now: Int) -> Int? {
        if text == "now" { return now }
        let most = 100_000_000_000
        guard text.hasPrefix("+") else { return Int(text).flatMap { (0...most).contains($0) ? $0 : nil } }
        let rest = text.dropFirst()
        let seconds = rest.hasSuffix("d") ? number(rest.dropLast()).map { $0 * 86_400 } : duration(rest)
        guard let whole = seconds.flatMap({ Int(exactly: $0) }), (0...most).contains(whole) else { return nil }
        return now + whole
    }

    /// Reads digits with at most one point. An exponent, infinity or a sign is refused.
    public static func number(_ text: some StringProtocol) -> Double? {
        text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E } ? Double(String(text)) : nil
    }
}
