import LiveActivity
import Store

/// The rights of a credential.
struct Grant: Sendable, Hashable {
    var id: String
    var scopes: Set<CredentialScope>
    /// Only names that begin so. Nil: all names, and calls that are about none.
    var namePrefix: String?

    init(_ credential: AppCredential) {
        (id, scopes, namePrefix) = (credential.id, credential.scopes, credential.namePrefix)
    }

    init(id: String, scopes: Set<CredentialScope>, namePrefix: String?) {
        (self.id, self.scopes, self.namePrefix) = (id, scopes, namePrefix)
    }

    func covers(_ name: ActivityName) -> Bool {
        namePrefix.map { name.rawValue.utf8.starts(with: $0.utf8) } ?? true
    }

    /// Whether whoever has this credential has all rights of another one.
    func covers(_ other: AppCredential) -> Bool {
        guard other.scopes.isSubset(of: scopes) else { return false }
        guard let namePrefix else { return true }
        return other.namePrefix.map { $0.utf8.starts(with: namePrefix.utf8) } ?? false
    }
}
