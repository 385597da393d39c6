import FoundationEssentials
import HTTPAPI
import LiveActivity
import Settings
import Store

extension Settings {
    /// The files that a gateway reads again when they change.
    var gatewayFiles: [String] {
        [gatewayTLS.certificate, gatewayTLS.key].compactMap(\.self)
            + apps.flatMap { $0.credentials.compactMap(\.secretFile) }
    }
}

extension AppSettings {
    /// The credentials of the configuration file. Files with secrets are read here; only hashes of them are kept.
    func issuedCredentials() throws(SettingsError) -> [AppCredential] {
        try credentials.map { entry throws(SettingsError) in
            guard let path = entry.secretFile else { return entry.credential }
            let name = "secret_file of credential '\(entry.credential.id)' of app '\(key)'"
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .missing(key: name, remedy: "\(path) does not exist or cannot be read by this user")
            }
            let text = String(decoding: data, as: UTF8.self).trimmed
            guard (SecretHash.fewestCharacters...256).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                let rule = "\(SecretHash.fewestCharacters) to 256 characters of printable ASCII without spaces"
                throw .missing(key: name, remedy: "\(path) must hold \(rule)")
            }
            var credential = entry.credential
            credential.secrets = [AppCredential.Secret(hash: SecretHash(of: text, for: "\(key)/\(credential.id)").text)]
            return credential
        }
    }
}
