internal import LiveActivity
internal import OpenSSL
internal import StrictJSON

/// A service account of Google: the key file of a Firebase project. Printing it shows no key.
public struct ServiceAccount: Sendable, CustomStringConvertible {
    public let projectID: String
    public let clientEmail: String
    /// Where its signed requests are exchanged for access tokens.
    public let tokenURI: String
    private let keyID: String
    private let key: RSASigningKey
    /// Names the account's key to other processes, without a secret.
    let identity: String

    /// The longest file that is read. Google's have about 2,400 bytes.
    public static let maximumBytes = 64 << 10
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds. Google takes no request that is valid for longer.
    private static let life = 3_600
    /// Seconds. The request's `iat` is that much before it is signed, because Google takes none from the future.
    private static let backdating = 60

    /// Reads a key file.
    /// - Throws: an error that names the field, and shows none of the key
    public init(json: [UInt8]) throws(ServiceAccountError) {
        guard !json.isEmpty else { throw ServiceAccountError("the file is empty; expected \(Self.source)") }
        guard json.count <= Self.maximumBytes else {
            throw ServiceAccountError("the file is larger than \(Self.maximumBytes) bytes; expected \(Self.source)")
        }
        let object: JSONObject
        do throws(JSONError) { object = try JSONDocument(json).root.object() } catch {
            // The error's text may quote the file, so it names the place alone.
            throw ServiceAccountError(
                "no JSON object at line \(error.location.line), column \(error.location.column); expected \(Self.source)"
            )
        }
        let type = try Self.field("type", of: object)
        guard type == "service_account" else {
            throw ServiceAccountError(field: "type", "expected service_account; this is another kind of key file")
        }
        projectID = try Self.field("project_id", of: object, isValid: Self.isProject)
        keyID = try Self.field("private_key_id", of: object, isValid: Self.isPlain)
        clientEmail = try Self.field("client_email", of: object) { Self.isPlain($0) && $0.utf8.contains(0x40) }
        tokenURI = try Self.field("token_uri", of: object) { $0.hasPrefix("https://") && Self.isPlain($0) }
        let pem = Array(try Self.field("private_key", of: object).utf8)
        do throws(SigningKeyError) { key = try RSASigningKey(pem: pem) } catch {
            let found: String =
                switch error {
                case .unreadable(let text): text
                default: error.description
                }
            throw ServiceAccountError(field: "private_key", "\(found); expected a PEM block as Google wrote it")
        }
        identity = "fcm.\(clientEmail).\(keyID)"
    }

    /// Whether it is the same key at the same token endpoint.
    func isSame(as other: ServiceAccount) -> Bool {
        (projectID, identity, tokenURI) == (other.projectID, other.identity, other.tokenURI)
    }

    public var description: String { "service account \(clientEmail) of project \(projectID)" }

    /// The signed request for an access token (RFC 7523).
    /// - Parameter now: epoch seconds
    func assertion(at now: Int) throws(SigningKeyError) -> String {
        let issuedAt = now - Self.backdating
        let claims = JSON.fields([
            "iss": .string(clientEmail), "scope": .string(Self.scope), "aud": .string(tokenURI),
            "iat": .integer(issuedAt), "exp": .integer(issuedAt + Self.life),
        ])
        let header = JSON.fields(["alg": "RS256", "typ": "JWT", "kid": .string(keyID)])
        let signed = "\(Base64.encodeURL(header.bytes)).\(Base64.encodeURL(claims.bytes))"
        return "\(signed).\(Base64.encodeURL(try key.rs256(Array(signed.utf8))))"
    }

    private static let source = "the JSON key file of a service account from the Firebase console"

    private static func field(
        _ name: String, of object: JSONObject, isValid: (String) -> Bool = { !$0.isEmpty }
    ) throws(ServiceAccountError) -> String {
        guard let value = object[name] else { throw ServiceAccountError(field: name, "is missing; expected \(source)") }
        guard let text = try? value.string(), isValid(text) else {
            throw ServiceAccountError(field: name, "is not as Google writes it; expected \(source)")
        }
        return text
    }

    /// The id goes into a path as it is.
    private static func isProject(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isURLUnreserved || $0 == UInt8(ascii: ":") }
    }

    private static func isPlain(_ text: String) -> Bool {
        (1...1_024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

/// A key file that cannot be used. The text shows nothing of its key.
public struct ServiceAccountError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
    init(field: String, _ text: String) { description = "field `\(field)`: \(text)" }
}
