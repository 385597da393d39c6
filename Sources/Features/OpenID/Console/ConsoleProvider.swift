public import LiveActivity

/// A provider of OpenID Connect by which people sign in: what the console needs of it. The gateway talks to it.
public struct ConsoleProvider: Sendable {
    public typealias Redeem =
        @Sendable (_ code: String, SignInAttempt, _ network: String, _ now: Int64) async throws(ProviderFailure) ->
        Visitor

    public typealias Address =
        @Sendable (SignInAttempt, _ network: String) async throws(ProviderFailure) -> String

    public typealias Keep = @Sendable (_ name: String, _ record: [UInt8], _ life: Duration) async throws -> Void

    /// For the button.
    public var name: String
    public var issuer: String
    /// `ConsoleIdentity.proof` of its sessions.
    public var proof: String
    /// How long a session lasts.
    public var life: Duration
    /// The address of its sign-in page for this attempt.
    public var address: Address
    /// The person for a code that it gave, to a browser of this network. Takes epoch ms.
    public var redeem: Redeem
    /// Keeps a sign-in that was begun.
    public var keep: Keep
    /// Takes it out, so that it is used once.
    public var take: @Sendable (_ name: String) async throws -> [UInt8]?

    public init(
        name: String, issuer: String, proof: String, life: Duration,
        address: @escaping Address, redeem: @escaping Redeem,
        keep: @escaping Keep, take: @escaping @Sendable (_ name: String) async throws -> [UInt8]?
    ) {
        (self.name, self.issuer, self.proof, self.life) = (name, issuer, proof, life)
        (self.address, self.redeem, self.keep, self.take) = (address, redeem, keep, take)
    }

    /// A person whom the provider vouches for.
    public struct Visitor: Sendable {
        public var person: ConsolePerson
        /// All of the person's groups at the provider.
        public var groups: [String]
        /// The apps that these open.
        public var apps: [AppKey]

        public init(person: ConsolePerson, groups: [String], apps: [AppKey]) {
            (self.person, self.groups, self.apps) = (person, groups, apps)
        }
    }
}

/// Why nobody could sign in through the provider.
public struct ProviderFailure: Error, Sendable, Hashable {
    public var status: Int
    /// For the page.
    public var message: String
    /// For the log, without codes, tokens and secrets.
    public var reason: String

    public init(_ status: Int, _ message: String, reason: String) {
        (self.status, self.message, self.reason) = (status, message, reason)
    }
}

extension ConsolePerson {
    /// The credential that calls of people have in the log of actions. No other credential can have this id.
    public static let credentialID = "oidc"
}
