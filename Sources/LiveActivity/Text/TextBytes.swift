// Names, tags, groups and users are UTF-8 bytes to Lamplighter. Swift's `split`, `hasPrefix`, `replacing` and `==` work
// on Characters: a combining mark joins the separator before it, and texts that Unicode calls equivalent are equal. So
// code that splits, escapes or compares parts of keys uses these functions. Separators are ASCII, so a cut is valid.

extension StringProtocol {
    /// The text before and after the first `separator` byte (ASCII).
    /// - Returns: nil if there is none
    public func cut(at separator: UInt8) -> (head: String, tail: String)? {
        guard let index = utf8.firstIndex(of: separator) else { return nil }
        return (
            String(decoding: utf8[..<index], as: UTF8.self),
            String(decoding: utf8[utf8.index(after: index)...], as: UTF8.self)
        )
    }

    /// The parts between `separator` bytes (ASCII), including empty ones. There are at most `count` parts, and the last
    /// one keeps its separators.
    public func parts(between separator: UInt8, atMost count: Int = .max) -> [String] {
        utf8.split(separator: separator, maxSplits: count - 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The text after `prefix`; nil if the bytes of the text do not begin with it.
    public func rest(behind prefix: some StringProtocol) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// The text without spaces and newlines at its ends.
    public var trimmed: String {
        let begun = drop(while: \.isWhitespace)
        return String(begun[..<(begun.lastIndex { !$0.isWhitespace }.map(begun.index(after:)) ?? begun.startIndex)])
    }

    /// For one component of a path, or one value of a query or a form.
    public var urlComponent: String { percentEncoded { !$0.isURLUnreserved } }

    /// The text with some ASCII bytes written as `%XX`.
    public func percentEncoded(_ isEncoded: (UInt8) -> Bool) -> String {
        utf8.withBytes { text in
            // Most texts stay as they are.
            guard text.contains(where: isEncoded) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.count + 8)
            for byte in text {
                if isEncoded(byte) {
                    bytes += "%\(Hex.encode([byte]).uppercased())".utf8
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        } ?? String(self)
    }

    /// The text with each `%XX` as its byte.
    /// - Returns: nil for a `%` without two hex digits, and for bytes that are not UTF-8
    public var percentDecoded: String? {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(Hex.value), let low = rest.next().flatMap(Hex.value) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The same for a name or value of a query or a form, where `+` is a space.
    public var formDecoded: String? {
        String(decoding: utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self).percentDecoded
    }
}

extension Collection<UInt8> {
    /// Lends the bytes in one piece of memory. A loop over it is several times as fast as one over a generic
    /// collection.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
    }
}

/// Whether two texts have the same UTF-8 bytes. Swift's own `==` also holds for canonically equivalent texts.
public func haveSameBytes(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    one.utf8.count == other.utf8.count && one.utf8.elementsEqual(other.utf8)
}

extension UInt8 {
    public var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// A letter, a digit, `_`, `.` or `-`.
    public var isURLUnreserved: Bool { isLetterOrDigit || "_.-".utf8.contains(self) }
}
