/// A right of a credential: one row each.
public struct CredentialScope: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String
    /// The right in words, such as "send, schedule and cancel pushes".
    public let meaning: String
    /// The scope whose calls it opens too. These look at it themselves.
    let standsFor: String?
    /// Whether only the master secret may give it: with a credential that makes credentials, one person could be two.
    public let isOfMaster: Bool
    /// Whether it opens dry runs: somebody who judges a publish may see what it would do.
    public let mayPreview: Bool

    init(
        _ rawValue: String, _ meaning: String, standsFor: String? = nil, isOfMaster: Bool = false,
        mayPreview: Bool = false
    ) {
        (self.rawValue, self.meaning) = (rawValue, meaning)
        (self.standsFor, self.isOfMaster, self.mayPreview) = (standsFor, isOfMaster, mayPreview)
    }

    /// Nil for a word that no scope has.
    public init?(rawValue: String) {
        guard let scope = Self.all.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = scope
    }

    public static func == (left: CredentialScope, right: CredentialScope) -> Bool { left.rawValue == right.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
    public var description: String { rawValue }
}

extension CredentialScope {
    /// In the order of a person's questions: may it look, send, register, decide?
    public static let all: [CredentialScope] = [read, publish] + ofFeatures.joined() + [track, operate]

    /// Lists, ledgers, channels and states.
    public static let read = CredentialScope("read", "see pages, lists and numbers")
    public static let publish = CredentialScope("publish", "send, schedule and cancel pushes")
    /// Tokens and channels, their tags and users.
    public static let track = CredentialScope("track", "register and forget devices")
    /// Schemas, broadcast channels and the log of actions too, and credentials of no wider rights.
    public static let operate = CredentialScope("operate", "pause, retry, decide, and make credentials")

    public static let words = all.map(\.rawValue).joined(separator: ", ")

    /// Reads words with commas between them. Nil if there is none, or an unknown one.
    public static func scopes(_ text: String) -> Set<CredentialScope>? {
        var scopes: Set<CredentialScope> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let scope = CredentialScope(rawValue: word.filter { $0 != " " }) else { return nil }
            scopes.insert(scope)
        }
        return scopes
    }
}

extension Set<CredentialScope> {
    /// The words, in the order of the scopes.
    public var words: [String] { CredentialScope.all.filter(contains).map(\.rawValue) }

    /// Whether they open what needs this scope.
    public func opens(_ scope: CredentialScope) -> Bool {
        contains(scope) || contains { $0.standsFor == scope.rawValue }
    }
}
