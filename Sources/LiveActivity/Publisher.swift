/// The caller who published a push.
public struct Publisher: Sendable, Hashable {
    /// The id of a credential, such as `master`. It has no spaces.
    public var credential: String
    /// The client's address, as far as trusted proxies tell it.
    public var address: String
    /// The person that signed in to the console without a secret. Nil: no such person.
    public var who: String?
    /// The id of that person at the provider, which stays when the name changes. Others may have the same name.
    public var whoID: String?
    /// The second person, who approved the push. Nil: the push needed no approval.
    public var second: Second?

    /// A person beside the caller.
    public struct Second: Sendable, Hashable {
        public var credential: String
        public var who, whoID: String?

        /// As the publisher of a push of their own.
        public init(_ publisher: Publisher) {
            (credential, who, whoID) = (publisher.credential, publisher.who, publisher.whoID)
        }
    }

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
    /// percent-encoded, and last the name, which alone may have spaces. The second person stands behind the address,
    /// with a plus before each part.
    public var stored: String {
        var places = [address]
        if let second {
            places.append(second.credential)
            if let who = second.who { places += [(second.whoID ?? "").urlComponent, who.urlComponent] }
        }
        return "\(credential) \(places.joined(separator: "+"))"
            + (who.map { " \((whoID ?? "").urlComponent) \($0)" } ?? "")
    }

    public init?(stored: String) {
        let parts = stored.parts(between: UInt8(ascii: " "), atMost: 4)
        guard parts.count > 1 else { return nil }
        let places = parts[1].parts(between: UInt8(ascii: "+"), atMost: 4)
        self.init(credential: parts[0], address: places[0])
        if places.count > 1 {
            var person = Publisher(credential: places[1], address: "")
            if places.count == 4 {
                person.who = places[3].percentDecoded
                person.whoID = places[2].isEmpty ? nil : places[2].percentDecoded
            }
            second = Second(person)
        }
        guard parts.count == 4 else { return }
        (who, whoID) = (parts[3], parts[2].isEmpty ? nil : parts[2].percentDecoded)
    }
}
