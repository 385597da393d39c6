/// The parts of `https://host[:port]`. The text has been checked (`APNsConfiguration.isOrigin`).
struct Origin: Sendable, Hashable {
    static let defaultPort: UInt16 = 443

    /// A name or an address, without brackets.
    var host: String
    var port: UInt16
    /// The value of `:authority`, without the default port.
    var authority: String

    init(_ origin: String) {
        var text = origin.dropFirst("https://".count)
        port = Self.defaultPort
        if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]"),
            let number = UInt16(text[text.index(after: colon)...])
        {
            port = number
            text = text[..<colon]
        }
        authority = port == Self.defaultPort ? String(text) : "\(text):\(port)"
        host = String(text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text)
    }
}
