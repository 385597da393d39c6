/// The caller who published a push.
public struct Publisher: Sendable, Hashable {
    /// The id of a credential, such as `master`. It has no spaces.
    public var credential: String
    /// The client's address, as far as trusted proxies tell it.
    public var address: String
    /// The person, if the console knows: one who signed in through a provider of OpenID Connect.
    public var who: String?
    /// The id of that person at the provider, which stays when the name changes. It is not stored.
    public var subject: String?

    public init(credential: String, address: String, who: String? = nil, subject: String? = nil) {
        self.subject = subject
        self.credential = credential
        self.address = address
        self.who = who
    }

    /// The form in which a push keeps it: the parts, with a space between them. An address has none.
    public var stored: String { "\(credential) \(address)" + (who.map { " \($0)" } ?? "") }

    public init?(stored: String) {
        let parts = stored.parts(between: UInt8(ascii: " "), atMost: 3)
        guard parts.count > 1 else { return nil }
        self.init(credential: parts[0], address: parts[1], who: parts.count > 2 ? parts[2] : nil)
    }
}
