private import FoundationEssentials

/// Base64 (RFC 4648): the form of a channel's id, and of the parts of a provider token.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    static func isEncoded(_ text: String) -> Bool { Data(base64Encoded: text) != nil }

    /// Decodes the form of URLs and JWTs, which has `-` and `_`, and no padding. Nil for any other form.
    static func decodeURL(_ text: Substring) -> [UInt8]? {
        guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: String(standard) + padding).map { Array($0) }
    }
}
