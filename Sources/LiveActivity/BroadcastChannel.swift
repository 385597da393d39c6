/// A broadcast channel's id as APNs made it: standard base64, which devices subscribe with and `apns-channel-id` carries.
/// Not to be confused with `ChannelID`, one install of the app.
public struct BroadcastChannelID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// Longer than any that Apple has made; what goes into a header and a key has a bound.
    public static let maximumBytes = 256

    public init(_ text: String) throws(IdentifierError) {
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let isEncoded =
            (1...Self.maximumBytes).contains(text.utf8.count) && text.utf8.count.isMultiple(of: 4) && padding <= 2
            && text.utf8.dropLast(padding).allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
        guard isEncoded else { throw IdentifierError(what: "broadcast channel id", rule: "base64 as APNs gave it") }
        rawValue = text
    }

    public var description: String { rawValue }
}

/// What APNs keeps of a channel's messages for devices that are offline or subscribe late; fixed at its creation.
public enum BroadcastStorage: String, Sendable, Hashable, CaseIterable {
    /// Nothing: every message has expiration 0, and the channel has the higher publishing budget.
    case none
    /// The newest message, up to eight hours.
    case newest

    /// `message-storage-policy`
    public var policy: Int { self == .none ? 0 : 1 }
}
