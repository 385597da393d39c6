import HTTPAPI
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
            let text = try secretFile(of: entry.credential.id, path).secret { text in
                let isRight =
                    (SecretHash.fewestCharacters...256).contains(text.utf8.count)
                    && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
                return isRight
                    ? nil : "\(SecretHash.fewestCharacters) to 256 characters of printable ASCII without spaces"
            }
            var credential = entry.credential
            credential.secrets = [AppCredential.Secret(hash: SecretHash(of: text, for: "\(key)/\(credential.id)").text)]
            return credential
        }
    }
}
