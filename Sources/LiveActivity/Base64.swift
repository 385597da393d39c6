/// Base64 of RFC 4648, read strictly: canonical padding in the standard alphabet, none in the URL-safe one.
package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: standard, padded: true)
    }
    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: urlSafe, padded: false)
    }

    /// Decodes standard base64.
    /// - Returns: nil for text that is not complete, padded, standard base64
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 4) else { return nil }
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        digits.removeLast(padding)
        return decode(digits, alphabet: standard)
    }

    package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        return digits.count % 4 == 1 ? nil : decode(digits, alphabet: urlSafe)
    }

    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: [UInt8], padded: Bool) -> String {
        var out: [UInt8] = []
        var pending: UInt32 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                out.append(alphabet[Int(pending >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { out.append(alphabet[Int(pending << UInt32(6 - bits) & 63)]) }
        while padded, !out.count.isMultiple(of: 4) { out.append(UInt8(ascii: "=")) }
        return String(decoding: out, as: UTF8.self)
    }

    private static func decode(_ digits: [UInt8], alphabet: [UInt8]) -> [UInt8]? {
        var out: [UInt8] = []
        var pending: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            pending = pending << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
            }
        }
        return out
    }
}
