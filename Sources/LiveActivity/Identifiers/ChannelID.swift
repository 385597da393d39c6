/// One install of an app on one device. The id is a UUID (either case, kept in lowercase) or a foreign id of 1 to 128
/// bytes.
public struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 128
    /// Compared by bytes, as Redis compares fields and members.
    private let exact: ExactText
    public var description: String { exact.description }

    public init(_ text: String) throws(IdentifierError) {
        if let uuid = UUIDBytes(text) {
            exact = ExactText(uuid.description)
        } else {
            try checkText(text, what: "channel", maximumBytes: Self.maximumBytes)
            exact = ExactText(text)
        }
    }

    public init(_ uuid: UUIDBytes) { exact = ExactText(uuid.description) }
    public static func random() -> ChannelID { ChannelID(.random()) }

    /// The form as a field or member in Redis. A UUID is its 16 bytes. A foreign id is 0x01 and its UTF-8, plus a zero
    /// byte at the end if it would have 16 bytes too.
    public var stored: [UInt8] {
        if let uuid = UUIDBytes(description) { return uuid.bytes }
        let bytes = [0x01] + Array(description.utf8)
        return bytes.count == 16 ? bytes + [0] : bytes
    }

    /// Visits the bytes of a channel's text, given in its stored form, without allocating memory.
    @inlinable
    public static func forEachTextByte(ofStored stored: some BidirectionalCollection<UInt8>, _ body: (UInt8) -> Void) {
        guard stored.count == 16 else {
            let text = stored.dropFirst()
            return (stored.count == 17 && text.last == 0 ? text.dropLast() : text).forEach(body)
        }
        var position = 0
        for byte in stored {
            if position == 4 || position == 6 || position == 8 || position == 10 { body(UInt8(ascii: "-")) }
            body(Hex.digit(byte >> 4))
            body(Hex.digit(byte & 0xF))
            position += 1
        }
    }

    /// Reads the stored form; nil if the bytes were not written by `stored`.
    public init?(stored: some BidirectionalCollection<UInt8>) {
        if let uuid = UUIDBytes(bytes: stored) {
            self.init(uuid)
            return
        }
        guard stored.first == 0x01 else { return nil }
        var text = stored.dropFirst()
        if stored.count == 17, text.last == 0 { text = text.dropLast() }
        guard let string = String(validating: text, as: UTF8.self), UUIDBytes(string) == nil,
            let channel = try? ChannelID(string)
        else { return nil }
        self = channel
    }
}
