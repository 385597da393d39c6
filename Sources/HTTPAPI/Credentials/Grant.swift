import Answers
import LiveActivity
import Store
import StrictJSON

/// The rights of a credential.
struct Grant: Sendable, Hashable {
    var id: String
    var scopes: Set<CredentialScope>
    /// Only names that begin so. Nil: all names, and calls that are about none.
    var namePrefix: String?
    /// When it ends, epoch ms. Nil: never.
    var expires: Int64?

    init(_ credential: AppCredential) {
        (id, scopes, namePrefix) = (credential.id, credential.scopes, credential.namePrefix)
        expires = credential.expires
    }

    init(id: String, scopes: Set<CredentialScope>, namePrefix: String?, expires: Int64?) {
        (self.id, self.scopes, self.namePrefix, self.expires) = (id, scopes, namePrefix, expires)
    }

    func covers(_ name: ActivityName) -> Bool { name.begins(with: namePrefix) }

    /// Whether this credential has all rights of another one, and has them as long.
    func covers(_ other: Grant) -> Bool {
        guard other.scopes.isSubset(of: scopes), other.expires ?? .max <= expires ?? .max else { return false }
        guard let namePrefix else { return true }
        return other.namePrefix.map { $0.utf8.starts(with: namePrefix.utf8) } ?? false
    }

    /// Whether somebody who has this credential may make another one, or take it over by a new secret. A credential
    /// whose scope is of the master secret alone may not be made: one person could be two then.
    func mayMake(_ other: Grant) -> Bool { covers(other) && !other.scopes.contains(where: \.isOfMaster) }
}

extension APIError {
    /// - Parameter scope: nil: no credential opens the call.
    static func missingScope(_ grant: Grant, _ scope: CredentialScope?) -> APIError {
        guard let scope else {
            return APIError(
                403, "No credential opens this call: its token would outlive the credential. Use the app secret.",
                code: 40301)
        }
        return APIError(
            403, "The credential '\(grant.id)' lacks the scope \(scope.rawValue), which this call needs.", code: 40301)
    }

    static func otherNames(_ grant: Grant) -> APIError {
        let names = "names that begin with \(JSON.string(grant.namePrefix ?? "").text)"
        return APIError(403, "The credential '\(grant.id)' is for \(names) only, and not for this call.", code: 40302)
    }
}
