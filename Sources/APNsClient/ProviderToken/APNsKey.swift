internal import LiveActivity
internal import OpenSSL

/// A signing key of Apple's developer site. Printing it shows no key.
public struct APNsKey: Sendable, CustomStringConvertible {
    public let teamID: String
    public let keyID: String
    /// A `Result`, so that a configuration can be made first and checked later.
    private let parsed: Result<P256SigningKey, SigningKeyError>
    /// Names the key to other processes, without a secret: keys with the same id may differ.
    let identity: String

    /// - Parameter pem: the text of the .p8 file
    public init(teamID: String, keyID: String, pem: [UInt8]) {
        self.init(teamID: teamID, keyID: keyID, Result { () throws(SigningKeyError) in try P256SigningKey(pem: pem) })
    }

    init(teamID: String, keyID: String, key: P256SigningKey) { self.init(teamID: teamID, keyID: keyID, .success(key)) }

    private init(teamID: String, keyID: String, _ parsed: Result<P256SigningKey, SigningKeyError>) {
        self.teamID = teamID
        self.keyID = keyID
        self.parsed = parsed
        identity = "\(teamID).\(keyID).\((try? parsed.get().fingerprint()) ?? "")"
    }

    public var description: String { "APNs key \(keyID) of team \(teamID)" }

    func check() throws(APNsClientError) {
        for (field, text) in [("apns team_id", teamID), ("apns key_id", keyID)] where !Self.isIdentifier(text) {
            throw .configuration(
                field: field, "expected 1 to 64 letters and digits, as Apple's developer site shows it")
        }
        if case .failure(let error) = parsed { throw .key(error) }
    }

    /// - Parameter now: epoch seconds.
    func sign(at now: Int) throws(SigningKeyError) -> ProviderToken {
        let claimed = try ProviderToken(
            keyID: keyID, teamID: teamID, issuedAt: now - RenewalRule.backdating, key: try parsed.get())
        return ProviderToken(jwt: claimed.jwt, issuedAt: now)
    }

    /// True for letters and digits alone, because they go into the token's JSON without escaping.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0)) }
    }
}
