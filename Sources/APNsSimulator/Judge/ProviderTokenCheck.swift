internal import OpenSSL

/// The keys whose owners may send, and the provider tokens (JWTs) that were checked against them. The signature of a
/// token is verified once. The checks that depend on the clock are made for every request.
struct ProviderTokenCheck: Sendable {
    struct Key: Sendable {
        var keyID: String
        var teamID: String
        var publicKey: P256PublicKey
        /// Empty means any.
        var bundleIDs: Set<String>
        /// The environment that the key is for. Nil: both.
        var environment: ProviderKey.Environment?
    }

    struct Token: Sendable {
        var text: String
        /// An index into `keys`.
        var key: Int
        /// Epoch seconds.
        var issuedAt: Int
    }

    let keys: [Key]
    /// Tokens whose signature was checked, by their text. Nil: the text is no valid token at any time.
    private var verified: [String: Token?] = [:]

    init(keys: [Key]) { self.keys = keys }

    mutating func verify(_ text: String) -> Token? {
        if let known = verified[text] { return known }
        let token = check(text)
        // Limit the memory, because a sender may sign a new token for every request.
        if verified.count >= 10_000 { verified.removeAll(keepingCapacity: true) }
        verified[text] = .some(token)
        return token
    }

    /// RFC 7519, and Apple's "Establishing a token-based connection to APNs": ES256, `kid`, `iss`, `iat` as a number.
    private func check(_ text: String) -> Token? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let headerText = Base64.decodeURL(parts[0]),
            let claimsText = Base64.decodeURL(parts[1]), let signature = Base64.decodeURL(parts[2]),
            let header = JSONReader.read(headerText)?.members, let claims = JSONReader.read(claimsText)?.members,
            header["alg"]?.string == "ES256", let keyID = header["kid"]?.string, let teamID = claims["iss"]?.string,
            let issuedAt = claims["iat"]?.seconds,
            let key = keys.firstIndex(where: { $0.keyID == keyID && $0.teamID == teamID }),
            keys[key].publicKey.isValid(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Token(text: text, key: key, issuedAt: issuedAt)
    }
}
