internal import LiveActivity

/// The parts of `https://host[:port]`.
public struct Origin: Sendable, Hashable {
    static let defaultPort: UInt16 = 443

    /// The whole, as it was given.
    public let text: String
    /// A name or an address, without brackets.
    let host: String
    let port: UInt16
    /// The value of `:authority`, without the default port.
    let authority: String

    /// Reads `https://host[:port]`. Nil for any other text. A path belongs to the request, and a user name would go to
    /// the server.
    public init?(_ origin: String) {
        guard origin.hasPrefix("https://") else { return nil }
        var text = origin.dropFirst("https://".count)
        var port = Self.defaultPort
        if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
            guard let number = UInt16(text[colon...].dropFirst()), number > 0 else { return nil }
            port = number
            text = text[..<colon]
        }
        self.port = port
        self.text = origin
        authority = port == Self.defaultPort ? String(text) : "\(text):\(port)"
        let isAddress = text.hasPrefix("[") && text.hasSuffix("]")
        host = String(isAddress ? text.dropFirst().dropLast() : text)
        let marks = isAddress ? ".-:" : ".-"
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isLetterOrDigit || marks.utf8.contains($0) }) else { return nil }
    }
}
