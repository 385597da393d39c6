extension RedisURL {
    /// Reads `host[:port],host[:port]…`.
    static func addresses(_ hosts: Substring, port: Int) throws(RedisURLError) -> [RedisAddress] {
        let entries = hosts.split(separator: ",", omittingEmptySubsequences: false)
        return try entries.enumerated().map { index, entry throws(RedisURLError) in
            do throws(RedisURLError) {
                return try tcp(entry.trimmingBlanks, port: port)
            } catch {
                throw entries.count == 1 ? error : RedisURLError("entry \(index + 1) of its hosts: \(error)")
            }
        }
    }

    static func tcp(_ text: Substring, port: Int = 6_379) throws(RedisURLError) -> RedisAddress {
        let host: Substring
        var rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw RedisURLError("the IPv6 address lacks its closing bracket")
            }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[end...].dropFirst()
            guard host.utf8.allSatisfy({ $0.isHostByte || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }) else {
                throw RedisURLError("the host in brackets is not an IPv6 address")
            }
        } else {
            guard text.count(where: { $0 == ":" }) <= 1 else {
                throw RedisURLError("the host has several colons: an IPv6 address stands in brackets, [::1]")
            }
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
            guard host.utf8.allSatisfy(\.isHostByte) else {
                throw RedisURLError("the host may hold only letters, digits, - _ and .")
            }
        }
        guard (1...255).contains(host.utf8.count) else { throw RedisURLError("the host is missing or too long") }
        guard !rest.isEmpty else { return .tcp(host: String(host), port: port) }
        guard rest.removeFirst() == ":" else { throw RedisURLError("after the bracket only :port may follow") }
        return .tcp(host: String(host), port: try number(rest, in: 1...65_535, part: "port"))
    }

    static func number(_ text: Substring, in range: ClosedRange<Int>, part: String) throws(RedisURLError) -> Int {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number)
        else { throw RedisURLError("the \(part) must be a number of \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    static func decoded(_ text: Substring, part: String) throws(RedisURLError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else if let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue {
                bytes.append(high << 4 | low)
            } else {
                throw undecodable(part)
            }
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else { throw undecodable(part) }
        return decoded
    }

    private static func undecodable(_ part: String) -> RedisURLError {
        RedisURLError(
            "the \(part) has a % that is not followed by two hex digits (write % itself as %25), or is not UTF-8")
    }
}

extension UInt8 {
    /// The value of a hex digit.
    fileprivate var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }

    /// Whether it is a letter, a digit, `-`, `_` or `.`.
    var isHostByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}

extension Substring {
    /// Without blanks at both ends, which lists with commas often have.
    fileprivate var trimmingBlanks: Substring {
        let start = drop { $0 == " " }
        return start.lastIndex { $0 != " " }.map { start[...$0] } ?? ""
    }
}
