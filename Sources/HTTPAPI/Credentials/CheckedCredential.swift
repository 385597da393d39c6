import Store

/// A credential with its hashes read.
struct CheckedCredential: Sendable {
    let credential: AppCredential
    let grant: Grant
    private let secrets: [(hash: SecretHash, until: Int64?)]

    /// Hashes that cannot be read are left out. They open nothing.
    init(_ credential: AppCredential) {
        self.credential = credential
        grant = Grant(credential)
        secrets = credential.secrets.compactMap { secret in
            SecretHash(secret.hash).map { (hash: $0, until: secret.until) }
        }
    }

    /// Whether the secret is one of the credential's, and neither is over. Every hash is compared.
    func fits(_ secret: [UInt8], at now: Int64) -> Bool {
        var isRight = false
        for (hash, until) in secrets where hash.fits(secret) {
            isRight = isRight || until.map { $0 > now } ?? true
        }
        return isRight && !credential.isOver(at: now)
    }
}
