import OpenSSL
import Store

/// A credential with its hashes read.
struct CheckedCredential: Sendable {
    let credential: AppCredential
    let grant: Grant
    private let secrets: [(hash: SecretHash, proof: SHA256Digest, until: Int64?)]

    /// Hashes that cannot be read are left out. They open nothing.
    init(_ credential: AppCredential) {
        self.credential = credential
        grant = Grant(credential)
        secrets = credential.secrets.compactMap { secret in
            SecretHash(secret.hash).map { (hash: $0, proof: SHA256Digest(of: $0.proof.utf8), until: secret.until) }
        }
    }

    /// Whether the secret is one of the credential's, and neither has expired. Every hash is compared.
    func fits(_ secret: [UInt8], at now: Int64) -> Bool { hash(of: secret, at: now) != nil }

    /// The proof that a session opened with this secret keeps. Nil: it does not fit.
    func proof(of secret: [UInt8], at now: Int64) -> String? { hash(of: secret, at: now)?.proof }

    /// Whether a session with this proof goes on: its secret is still one of the credential's, and neither has expired.
    func stands(proof: String, at now: Int64) -> Bool {
        let digest = SHA256Digest(of: proof.utf8)
        let isRight = secrets.contains { $0.proof == digest && ($0.until.map { $0 > now } ?? true) }
        return isRight && !credential.isOver(at: now)
    }

    /// When the credential or this secret of it ended (epoch ms). Nil: it is no secret of it, or still good.
    func end(of secret: [UInt8], at now: Int64) -> Int64? {
        guard let (_, _, until) = secrets.first(where: { $0.hash.fits(secret) }) else { return nil }
        return [credential.expires, until].compactMap(\.self).filter { $0 <= now }.min()
    }

    private func hash(of secret: [UInt8], at now: Int64) -> SecretHash? {
        var found: SecretHash?
        for (hash, _, until) in secrets where hash.fits(secret) {
            if until.map({ $0 > now }) ?? true { found = found ?? hash }
        }
        return credential.isOver(at: now) ? nil : found
    }
}
