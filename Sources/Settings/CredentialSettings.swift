import Answers
import HTTPAPI
public import Store
import LiveActivity

/// One entry of an app's `credentials:`.
public struct CredentialSettings: Sendable, Hashable {
    enum Field: String, CaseIterable {
        case id, scopes, hash
        case namePrefix = "name_prefix"
        case expiresAt = "expires_at"
        case secretFile = "secret_file"
    }

    /// The credential. It has no secrets if `secretFile` has them.
    public var credential: AppCredential
    /// The file that holds the secret. It is read when a gateway starts.
    public var secretFile: String?

    /// Reads one entry. Adds what is wrong to `problems`.
    init?(_ entries: [String: SettingsFile.Entry], path: String, _ problems: inout [SettingsError]) {
        var isRight = true
        func value(_ field: Field) -> SettingsFile.Entry? { entries[field.rawValue] }
        func refuse(_ field: Field, shows: Bool = true, _ expected: String) {
            guard let entry = value(field) else { return }
            problems.append(
                .invalid(
                    key: "\(path).\(field.rawValue)", entry.origin, found: shows ? entry.text : nil, expected: expected)
            )
            isRight = false
        }
        func require(_ field: Field, _ remedy: String) {
            problems.append(.missing(key: "\(path).\(field.rawValue)", remedy: remedy))
            isRight = false
        }
        let id = value(.id)?.text ?? ""
        if id.isEmpty {
            require(.id, "it names the credential in requests and logs")
        } else if !AppCredential.isID(id) || AppCredential.isTaken(id) {
            refuse(.id, "\(AppCredential.idRule), and none of \(AppCredential.builtInIDs.joined(separator: ", "))")
        }
        let scopes = value(.scopes).flatMap { CredentialScope.scopes($0.text) }
        if value(.scopes) == nil { require(.scopes, "name some of \(CredentialScope.words)") }
        if scopes == nil { refuse(.scopes, "some of \(CredentialScope.words), with commas between them") }
        let prefix = value(.namePrefix)?.text
        if let prefix, (try? ActivityName(prefix)) == nil || prefix.utf8.last == UInt8(ascii: "*") {
            refuse(.namePrefix, "the beginning of a name, without a * behind it")
        }
        let expires = value(.expiresAt).flatMap { TimeText.parse($0.text) }
        if expires == nil { refuse(.expiresAt, "a time like 2026-11-21T18:00:00 (UTC)") }
        let hash = value(.hash)?.text
        if let hash, SecretHash(hash) == nil { refuse(.hash, shows: false, SecretHash.rule) }
        if let file = value(.secretFile) {
            if hash != nil {
                problems.append(
                    .conflict(key: "\(path).secret_file", file.origin, reason: "give either this or hash"))
                isRight = false
            }
        } else if hash == nil {
            require(.hash, "give hash, \(SecretHash.rule), or secret_file")
        }
        guard isRight, let scopes else { return nil }
        credential = AppCredential(
            id: id, scopes: scopes, namePrefix: prefix, expires: expires,
            secrets: hash.map { [AppCredential.Secret(hash: $0)] } ?? [])
        do throws(SettingsError) {
            secretFile = try value(.secretFile).map { (entry) throws(SettingsError) in
                try SecretFile.path(entry, of: "\(path).secret_file")
            }
        } catch {
            problems.append(error)
            return nil
        }
    }
}
