/// The caller who published a push.
public struct Publisher: Sendable, Hashable {
    /// The id of a credential, such as `master`. It has no spaces.
    public var credential: String
    /// The client's address, as far as trusted proxies tell it.
    public var address: String
    /// The person, if the console knows: one who signed in without a secret.
    public var who: String?
    /// The id of that person at the provider, which stays when the name changes. Others may have the same name.
    public var whoID: String?

    public init(credential: String, address: String, who: String? = nil, whoID: String? = nil) {
        self.credential = credential
        self.address = address
        self.who = who
        self.whoID = whoID
    }

    /// The caller, for people. No credential's id has spaces, so a person called `master` does not look like one.
    public static func shown(_ credential: String, _ who: String?) -> String {
        who.map { "\($0) (\(credential))" } ?? credential
    }

    /// The form in which a push keeps it: the parts, with a space between them. Of a person also the id,
    /// percent-encoded, and last the name, which alone may have spaces.
    public var stored: String {
        "\(credential) \(address)" + (who.map { " \((whoID ?? "").urlComponent) \($0)" } ?? "")
    }

    public init?(stored: String) {
        let parts = stored.parts(between: UInt8(ascii: " "), atMost: 4)
        guard parts.count > 1 else { return nil }
        self.init(credential: parts[0], address: parts[1])
        guard parts.count == 4 else { return }
        (who, whoID) = (parts[3], parts[2].isEmpty ? nil : parts[2].percentDecoded)
    }
}
