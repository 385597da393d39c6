/// A right of a credential.
public enum CredentialScope: String, Sendable, Hashable, CaseIterable {
    /// Publish, schedule, and cancel either.
    case publish
    /// Register tokens and channels, tag them, name their users, remove and forget them.
    case track
    /// Read lists, ledgers, channels and states.
    case read
    /// Pause, retry and discard; schemas, broadcast channels, the log of actions, and credentials of no wider rights.
    case operate

    public static let words = allCases.map(\.rawValue).joined(separator: ", ")

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
    public var words: [String] { CredentialScope.allCases.filter(contains).map(\.rawValue) }
}
