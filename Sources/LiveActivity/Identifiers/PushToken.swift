/// A Live Activity's push token: 1 to 512 bytes, hexadecimal in every protocol. Apple does not fix the length.
public struct PushToken: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 512
    public let bytes: [UInt8]

    public init(hex: some StringProtocol) throws(IdentifierError) {
        guard (2...2 * Self.maximumBytes).contains(hex.utf8.count), let bytes = Hex.decode(hex) else {
            throw IdentifierError(
                what: "token", rule: "1 to \(Self.maximumBytes) bytes written as an even number of hex digits")
        }
        self.bytes = bytes
    }

    /// - Returns: nil unless there are 1 to 512 bytes
    public init?(bytes: [UInt8]) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    public var hex: String { Hex.encode(bytes) }
    /// A form that is safe for logs: the first four bytes and the length.
    public var description: String { "\(Hex.encode(bytes.prefix(4)))…(\(bytes.count) bytes)" }
}
