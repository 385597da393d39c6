/// Where a platform reaches a card. For APNs it is the Live Activity's push token: 1 to 512 bytes, hexadecimal in every
/// protocol, because Apple does not fix the length. For another platform it is text.
public struct PushToken: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 512
    /// The most bytes of a text.
    public static let maximumText = 255
    public let bytes: [UInt8]
    public let platform: Platform

    public init(hex: some StringProtocol) throws(IdentifierError) {
        guard (2...2 * Self.maximumBytes).contains(hex.utf8.count), let bytes = Hex.decode(hex) else {
            let form = Self.otherForm(String(hex)).map { "; this is \($0)" } ?? ""
            throw IdentifierError(
                what: "token", rule: "1 to \(Self.maximumBytes) bytes written as an even number of hex digits\(form)")
        }
        (self.bytes, platform) = (bytes, .ios)
    }

    /// An address of another platform than APNs: 1 to 255 visible characters of ASCII.
    public init(text: String, of platform: Platform) throws(IdentifierError) {
        let bytes = Array(text.utf8)
        guard (1...Self.maximumText).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw IdentifierError(
                what: "address", rule: "1 to \(Self.maximumText) visible ASCII characters without blanks")
        }
        (self.bytes, self.platform) = (bytes, platform)
    }

    /// A name keeps this in place of the token, if the follower's address is kept with its channel.
    public static func ofChannel(on platform: Platform) -> PushToken { PushToken(stored: ofChannel, of: platform) }
    public static let ofChannel = [UInt8(ascii: "-")]
    /// As `ofChannel`, for a follower whose device has lost the name's card: states go to it as a start, until the
    /// device tells of its card.
    public static func withoutCard(on platform: Platform) -> PushToken { PushToken(stored: withoutCard, of: platform) }
    public static let withoutCard = [UInt8(ascii: "+")]

    /// An address that another type has checked, in its stored form.
    init(stored bytes: [UInt8], of platform: Platform) { (self.bytes, self.platform) = (bytes, platform) }

    /// How else apps write tokens, by mistake. It tells nothing of the token itself.
    private static func otherForm(_ text: String) -> String? {
        let text = text.trimmed
        if ["", "(null)", "null", "nil", "<null>", "undefined"].contains(text.lowercased()) { return "no token" }
        if text.contains("bytes = 0x") || text.contains("length = ") {
            return "the short description of Data, which leaves bytes out: write each byte as two hex digits"
        }
        if text.first == "<", text.last == ">", Hex.decode(text.dropFirst().dropLast().filter { $0 != " " }) != nil {
            return "the description of NSData: leave out < > and blanks"
        }
        let bare = text.filter { $0 != " " && $0 != "-" && $0 != ":" }
        if bare != text, Hex.decode(bare) != nil {
            return "hex with other characters between"
        }
        if text.utf8.count >= 40, let bytes = Base64.decode(text), !bytes.isEmpty { return "Base64" }
        return nil
    }

    /// A token of APNs.
    /// - Returns: nil unless there are 1 to 512 bytes
    public init?(bytes: [UInt8]) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        (self.bytes, platform) = (bytes, .ios)
    }

    public var hex: String { Hex.encode(bytes) }
    /// A form that is safe for logs: the first four bytes and the length.
    public var description: String { "\(Hex.encode(bytes.prefix(4)))…(\(bytes.count) bytes)" }
}
