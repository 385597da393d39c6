public import Answers
public import LiveActivity

/// A signed-in app, the credential that proved it, and the rights of that credential.
public struct ConsoleIdentity: Sendable, Hashable {
    public var app: AppKey
    /// The id of one of the app's credentials. Nil: the master secret.
    public var credentialID: String?
    /// Derived from the secret. It no longer fits once the secret has changed, and this ends the session.
    public var proof: String
    public var scopes: Set<CredentialScope>
    /// Only names that begin so. Nil: all names, and pages that are about none.
    public var namePrefix: String?
    /// When the credential ends, epoch ms. Nil: never.
    public var expires: Int64?
    /// The person who signed in. Nil: a secret did.
    public var person: ConsolePerson?

    public init(
        app: AppKey, credentialID: String? = nil, proof: String,
        scopes: Set<CredentialScope> = Set(CredentialScope.all), namePrefix: String? = nil,
        expires: Int64? = nil, person: ConsolePerson? = nil
    ) {
        (self.app, self.credentialID, self.proof) = (app, credentialID, proof)
        (self.scopes, self.namePrefix, self.expires) = (scopes, namePrefix, expires)
        self.person = person
    }

    /// For people.
    public var credential: String {
        person.map { "account \($0.name)" } ?? credentialID.map { "credential \($0)" } ?? "master secret"
    }

    /// The person's name or the credential's id. Nil: the master secret.
    var holder: String? { person?.name ?? credentialID }

    /// The rights of a credential, for people: some buttons are missing because of them. Nil: all.
    var limits: String? {
        guard credentialID != nil else { return nil }
        let may = "may " + scopes.words.joined(separator: ", ")
        return namePrefix.map { "\(may) names that begin with “\($0)”" } ?? may
    }

    /// Whether it may open a page of this path, or send its form (`POST`).
    func mayOpen(_ path: String, _ method: String = "GET") -> Bool {
        Route.find(method, path).map { refusal($0.0.scope, forAllNames: $0.0.forAllNames) == nil } ?? false
    }

    /// The refusal of a page that needs other rights. Nil: it may open it.
    func refusal(_ scope: CredentialScope?, forAllNames: Bool = false) -> ConsoleFailure? {
        if let scope, !scopes.opens(scope) {
            let what = "lacks the scope \(scope.rawValue), which this needs. Sign in with another credential."
            return ConsoleFailure(403, "The \(credential) \(what)")
        }
        guard forAllNames, let namePrefix else { return nil }
        return ConsoleFailure(
            403, "The \(credential) is for names that begin with “\(namePrefix)” only, and this is about all names.")
    }
}

/// A person who signed in without a secret (`SignInWay`).
public struct ConsolePerson: Sendable, Hashable {
    /// An address or another name, for people.
    public var name: String
    /// The id of the person, which is never somebody else's.
    public var subject: String
    /// The person's groups at the sign-in, as far as they open something.
    public var groups: [String]
    /// Epoch ms.
    public var signedIn: Int64

    public init(name: String, subject: String, groups: [String], signedIn: Int64) {
        (self.name, self.subject, self.groups, self.signedIn) = (name, subject, groups, signedIn)
    }
}
