import FoundationEssentials

/// Base64 of RFC 4648, read strictly: only as `encode` or `encodeURL` writes it. The URL-safe form has no padding.
package enum Base64 {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        String(encode(bytes).prefix { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard let bytes = Data(base64Encoded: String(text)), encode(bytes) == text else { return nil }
        return Array(bytes)
    }

    package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
        let digits = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        guard let bytes = decode(digits + padding), encodeURL(bytes) == text else { return nil }
        return bytes
    }
}
