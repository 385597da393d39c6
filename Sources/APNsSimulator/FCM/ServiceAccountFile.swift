internal import Glibc
internal import OpenSSL

/// The service account of the simulated project, in the form of the key file that Google issues.
struct ServiceAccountFile: Sendable {
    let email: String
    let keyID: String
    let publicKey: RSAPublicKey
    let path: String
    private let directory: String
    private let projectID: String
    private let privateKey: String

    private struct Kept: Decodable {
        var privateKey: String

        enum CodingKeys: String, CodingKey { case privateKey = "private_key" }
    }

    /// Makes the key. One that the directory has from an earlier start is used again.
    init(directory: String, projectID: String) throws(SimulatorError) {
        path = "\(directory)/service-account.json"
        email = "simulator@\(projectID).iam.gserviceaccount.com"
        self.directory = directory
        self.projectID = projectID
        let kept = try? JSON.decode(Array((Files.read(path) ?? "").utf8), source: path) as Kept
        var key = Array((kept?.privateKey ?? "").utf8)
        do throws(SigningKeyError) {
            if let known = try? RSAPublicKey(privatePEM: key) {
                publicKey = known
            } else {
                key = try RSAPublicKey.generatePrivatePEM()
                publicKey = try RSAPublicKey(privatePEM: key)
            }
        } catch {
            throw .configuration(field: path, "cannot make the key: \(error)")
        }
        keyID = Hexadecimal.encode(SHA1Digest(of: key))
        privateKey = String(decoding: key, as: UTF8.self)
    }

    /// Writes `service-account.json`, readable for its owner only.
    func write(tokenURI: String) throws(SimulatorError) {
        let fields = [
            "type": "service_account", "project_id": projectID, "private_key_id": keyID, "private_key": privateKey,
            "client_email": email, "client_id": "100000000000000000001", "token_uri": tokenURI,
            "universe_domain": "googleapis.com",
        ]
        let lock = try Files.lock("\(directory)/.lock")
        defer { close(lock) }
        try Files.write(path, JSON.encode(fields), mode: 0o600)
    }
}
