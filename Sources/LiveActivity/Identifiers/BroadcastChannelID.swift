/// A broadcast channel's id as APNs made it, in standard base64. Devices subscribe with it, and `apns-channel-id`
/// carries it. A `ChannelID` is something else: one install of the app.
public struct BroadcastChannelID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    /// Longer than any id that Apple has made. The limit bounds headers and keys.
    public static let maximumBytes = 256

    public init(_ text: String) throws(IdentifierError) {
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let isEncoded =
            (1...Self.maximumBytes).contains(text.utf8.count) && text.utf8.count.isMultiple(of: 4) && padding <= 2
            && text.utf8.dropLast(padding).allSatisfy { $0.isLetterOrDigit || "+/".utf8.contains($0) }
        guard isEncoded else { throw IdentifierError(what: "broadcast channel id", rule: "base64 as APNs gave it") }
        rawValue = text
    }

    public var description: String { rawValue }
}
