internal import Glibc
internal import OpenSSL

/// The simulator's own CA and what it signs. A lock on the directory lets simulators that start together share one CA.
struct Certificates {
    var server: CertificateAuthority.Identity
    var caFile: String
    /// The provider keys by key id, PEM: made on the first start, then the same for ever.
    var providerKeyFiles: [(keyID: String, path: String)]

    static let simulatorTeamID = "LAMPLIGHT1"

    private static let day = 86_400
    /// Below this a CA is replaced.
    private static let minimumRemaining = 30 * day

    /// `life`: seconds until the server's certificate expires.
    static func prepare(
        directory: String, host: String, life: Int = 365 * 86_400, keys: Int = 1
    ) throws(SimulatorError) -> Certificates {
        try Files.makeDirectory(directory)
        let lock = try Files.lock("\(directory)/.lock")
        defer { close(lock) }
        let caFile = "\(directory)/ca.pem"
        let keyFile = "\(directory)/ca.key"
        do {
            let authority =
                try readAuthority(caFile: caFile, keyFile: keyFile) ?? makeAuthority(caFile: caFile, keyFile: keyFile)
            let server = try authority.issue(
                commonName: "Lamplighter APNs simulator", hosts: hosts(host), validity: min(0, life) - day...life)
            let keyFiles = (1...keys).map { ("SIMULATOR\($0)", "\(directory)/AuthKey_SIMULATOR\($0).p8") }
            for (_, path) in keyFiles where Files.read(path) == nil {
                try Files.write(path, P256SigningKey.generatePEM(), mode: 0o600)
            }
            return Certificates(server: server, caFile: caFile, providerKeyFiles: keyFiles)
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw .configuration(field: directory, "cannot make certificates: \(error)")
        }
    }

    private static func makeAuthority(caFile: String, keyFile: String) throws -> CertificateAuthority {
        let authority = try CertificateAuthority(
            commonName: "Lamplighter APNs simulator CA", organization: "Lamplighter", validity: -day...3_650 * day)
        let identity = try authority.identity()
        try Files.write(keyFile, identity.key, mode: 0o600)
        try Files.write(caFile, identity.certificate, mode: 0o644)
        return authority
    }

    /// nil: none, not readable, or soon to expire.
    private static func readAuthority(caFile: String, keyFile: String) -> CertificateAuthority? {
        guard let certificate = Files.read(caFile), let key = Files.read(keyFile),
            let authority = CertificateAuthority(
                CertificateAuthority.Identity(certificate: Array(certificate.utf8), key: Array(key.utf8))),
            authority.isValid(forSeconds: minimumRemaining)
        else { return nil }
        return authority
    }

    /// Names and addresses under which clients reach the simulator.
    private static func hosts(_ host: String) -> [String] {
        let own = ["localhost", "127.0.0.1", "::1"]
        // A link-local address may name its interface (fe80::1%eth0). A certificate does not.
        let host = String(host.prefix { $0 != "%" })
        return own.contains(host) ? own : own + [host]
    }
}
