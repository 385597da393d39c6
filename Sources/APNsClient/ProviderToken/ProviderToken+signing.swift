internal import LiveActivity
internal import OpenSSL

extension ProviderToken {
    /// Signs a token in Apple's form: header `alg` and `kid`, claims `iss` and `iat`, the latter a number. The
    /// configuration check allows only letters and digits in `keyID` and `teamID`, so nothing needs escaping.
    init(keyID: String, teamID: String, issuedAt: Int, key: P256SigningKey) throws(SigningKeyError) {
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64.encodeURL(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signature = try key.es256(Array("\(header).\(claims)".utf8))
        self.init(jwt: "\(header).\(claims).\(Base64.encodeURL(signature))", issuedAt: issuedAt)
    }
}
