import LiveActivity
import OpenSSL

/// The salted hash of a secret: HMAC-SHA256 with the salt as its key. Secrets are random or long, so a slow hash would
/// protect nothing, and would let strangers keep gateways busy.
public struct SecretHash: Sendable, Hashable {
    public static let rule = "as 'lamplighter credential hash' prints it: hmac-sha256:SALT:HASH"
    /// The fewest characters of a secret that somebody else made.
    public static let fewestCharacters = 24
    private static let word = "hmac-sha256"
    private let salt: [UInt8]
    private let code: [UInt8]

    public init(of secret: String) { self.init(Array(secret.utf8), salt: Self.random(16)) }

    /// The hash of a secret that every gateway reads from a file of its own: with the same salt in all of them, so that
    /// what is derived from the hash fits at each. It is not stored.
    /// - Parameter place: whose secret it is, such as `APP/ID`
    public init(of secret: String, for place: String) {
        let bytes = Array(secret.utf8)
        let derived = Array(HMACKey(bytes).code(for: Array("lamplighter salt \(place)".utf8)))
        self.init(bytes, salt: Array(derived[..<16]))
    }

    private init(_ secret: [UInt8], salt: [UInt8]) {
        self.salt = salt
        code = Array(HMACKey(salt).code(for: secret))
    }

    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.word, let salt = Hex.decode(parts[1]), salt.count == 16,
            let code = Hex.decode(parts[2]), code.count == 32
        else { return nil }
        (self.salt, self.code) = (salt, code)
    }

    public var text: String { "\(Self.word):\(Hex.encode(salt)):\(Hex.encode(code))" }

    /// Takes the same time wherever the hashes differ.
    func fits(_ secret: [UInt8]) -> Bool { HMACKey(salt).isValid(code, for: secret) }

    /// The proof that a session of the console keeps. No secret can be made from it, and another secret or salt has
    /// another one.
    var proof: String { Hex.encode(HMACKey(code).code(for: Array("lamplighter console 1".utf8))) }

    /// A new secret of a credential: its id, a point, and 256 random bits.
    public static func newSecret(of id: String) -> String { "\(id).\(Base64.encodeURL(random(32)))" }

    private static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: 0 ... .max, using: &generator) }
    }
}
