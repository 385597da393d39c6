import LiveActivity

/// RFC 3986 percent-encoding of path components and query values.
enum PercentEncoding {
    /// The text that percent escapes stand for. Nil for a broken escape or for bytes that are not UTF-8.
    static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let isPlain = !text.utf8.contains { $0 == UInt8(ascii: "%") || plusIsSpace && $0 == UInt8(ascii: "+") }
        if isPlain { return String(text) }
        return plusIsSpace ? text.formDecoded : text.percentDecoded
    }

    /// Names and values of a query string. Nil if one cannot be decoded. If a name is repeated, its first value counts.
    static func query(_ text: Substring) -> [String: String]? {
        var values: [String: String] = [:]
        for pair in text.parts(between: UInt8(ascii: "&")) where !pair.isEmpty {
            let parts = pair.parts(between: UInt8(ascii: "="), atMost: 2)
            guard let name = decode(parts[0], plusIsSpace: true),
                let value = decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
            else { return nil }
            if values[name] == nil { values[name] = value }
        }
        return values
    }
}
