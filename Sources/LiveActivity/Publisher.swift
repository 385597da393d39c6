/// The caller who published a push.
public struct Publisher: Sendable, Hashable {
    /// The id of a credential, such as `master`. It has no spaces.
    public var credential: String
    /// The client's address, as far as trusted proxies tell it.
    public var address: String

    public init(credential: String, address: String) {
        self.credential = credential
        self.address = address
    }

    /// The form in which a push keeps it: both, with a space between them.
    public var stored: String { "\(credential) \(address)" }

    public init?(stored: String) {
        guard let space = stored.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        self.init(credential: String(stored[..<space]), address: String(stored[stored.utf8.index(after: space)...]))
    }
}
