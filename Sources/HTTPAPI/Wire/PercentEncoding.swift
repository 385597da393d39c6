import LiveActivity

/// RFC 3986 percent-encoding of path components and query values.
enum PercentEncoding {
    /// Nil for a broken escape or for bytes that are not UTF-8.
    static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Hex.value), let low = rest.next().flatMap(Hex.value) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
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
