private import FoundationEssentials
internal import OpenSSL

/// Google's endpoint for access tokens (RFC 7523): checks the assertion of a service account, and issues the token.
struct AccessTokens: Sendable {
    /// Seconds of a token's life.
    let life: Int
    /// The most seconds that an `iat` may be ahead.
    let tolerance: Int
    let account: ServiceAccountFile
    /// The audience of an assertion. Nil until the port is known.
    var tokenURI: String?
    private var issued: [String: (issuedAt: Int, expiresAt: Int)] = [:]

    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    static let scopes = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let longestAssertion = 3_600

    init(life: Int, tolerance: Int, account: ServiceAccountFile) {
        (self.life, self.tolerance, self.account) = (life, tolerance, account)
    }

    /// - Parameters:
    ///   - form: the body of the request
    ///   - now: milliseconds since 1970
    mutating func exchange(_ form: [UInt8], now: Int) -> Result<[UInt8], AccessTokenError> {
        let fields = Self.fields(form)
        guard fields["grant_type"] == Self.grantType else { return .failure(.unsupportedGrantType) }
        if let error = check(fields["assertion"] ?? "", seconds: now / 1_000) { return .failure(error) }
        issued = issued.filter { $0.value.expiresAt > now }
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let token = "ya29.\(Hexadecimal.encode(bytes))"
        issued[token] = (now, now + life * 1_000)
        return .success(Array(#"{"access_token":"\#(token)","expires_in":\#(life),"token_type":"Bearer"}"#.utf8))
    }

    /// Whether a request may use the token.
    /// - Parameter earliest: epoch seconds; tokens that were issued before are refused
    func isValid(_ token: String, now: Int, issuedFrom earliest: Int?) -> Bool {
        guard let (issuedAt, expiresAt) = issued[token] else { return false }
        return now < expiresAt && issuedAt >= (earliest ?? 0) * 1_000
    }

    private func check(_ assertion: String, seconds: Int) -> AccessTokenError? {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let headerText = Base64.decodeURL(parts[0]),
            let claimsText = Base64.decodeURL(parts[1]), let signature = Base64.decodeURL(parts[2]),
            let header = JSONReader.read(headerText)?.members, let claims = JSONReader.read(claimsText)?.members
        else { return .malformed }
        guard claims["iss"]?.decodedString == account.email else { return .accountNotFound }
        guard header["alg"]?.string == "RS256", header["kid"]?.string == account.keyID,
            account.publicKey.isValid(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return .invalidSignature }
        guard let tokenURI, claims["aud"]?.decodedString == tokenURI else { return .audience }
        guard let issuedAt = claims["iat"]?.seconds, let expiresAt = claims["exp"]?.seconds,
            issuedAt <= seconds + tolerance, expiresAt > seconds - tolerance, expiresAt > issuedAt,
            expiresAt - issuedAt <= Self.longestAssertion
        else { return .clock }
        let scopes = claims["scope"]?.decodedString?.split(separator: " ").map(String.init) ?? []
        return scopes.isEmpty || !scopes.contains(where: Self.scopes.contains) ? .invalidScope : nil
    }

    /// The fields of a form (`application/x-www-form-urlencoded`).
    private static func fields(_ form: [UInt8]) -> [String: String] {
        let text = "?" + String(decoding: form, as: UTF8.self).replacing("+", with: "%20")
        let items = URLComponents(string: text)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
}

/// The errors of the endpoint for access tokens, by a name that `Faults.tokenError` uses.
enum AccessTokenError: String, Error, CaseIterable {
    case malformed
    case invalidSignature = "invalid_signature"
    case accountNotFound = "account_not_found"
    case audience
    case clock
    case invalidScope = "invalid_scope"
    case unsupportedGrantType = "unsupported_grant_type"
    case unavailable
    case notJSON = "not_json"
    /// No answer at all.
    case stalled

    var status: Int {
        switch self {
        case .unavailable, .notJSON: 503
        default: 400
        }
    }

    /// Google's code and description.
    var body: [UInt8] {
        let (code, text) =
            switch self {
            case .malformed: ("invalid_grant", "Invalid JWT: Could not decode the assertion.")
            case .invalidSignature: ("invalid_grant", "Invalid JWT Signature.")
            case .accountNotFound: ("invalid_grant", "Invalid grant: account not found")
            case .audience: ("invalid_grant", "Invalid JWT: Failed audience check")
            case .clock:
                (
                    "invalid_grant",
                    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
                        + " Check your iat and exp values in the JWT claim."
                )
            case .invalidScope: ("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
            case .unsupportedGrantType: ("unsupported_grant_type", "Invalid grant_type.")
            case .unavailable: ("internal_failure", "Backend Error")
            case .notJSON, .stalled: ("", "")
            }
        return Array(
            (self == .notJSON
                ? "<!DOCTYPE html>\n<title>Error 503</title>\n"
                : #"{"error":"\#(code)","error_description":"\#(text)"}"#).utf8)
    }
}
